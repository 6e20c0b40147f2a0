#include "scheduling/keepers/late_allocations.h"

#include <algorithm>

namespace berth::scheduling {

bool LateAllocations::update(model::Cluster& cluster, Time now) {
  for (const model::ClaimId claim : cluster.late_claims())
    until_.try_emplace(claim, now + kLateAllocationMax);
  const std::size_t ended = std::erase_if(until_, [&](const auto& entry) {
    if (now >= entry.second) cluster.forget_late(entry.first);
    return !cluster.late_claims().contains(entry.first);
  });
  return ended > 0;
}

void LateAllocations::forget_all(model::Cluster& cluster) {
  while (!cluster.late_claims().empty()) cluster.forget_late(*cluster.late_claims().begin());
}

std::optional<Time> LateAllocations::next_time() const {
  std::optional<Time> next;
  for (const auto& [claim, until] : until_) next = next ? std::min(*next, until) : until;
  return next;
}

}  // namespace berth::scheduling
