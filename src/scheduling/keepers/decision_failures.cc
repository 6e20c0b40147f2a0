#include "scheduling/keepers/decision_failures.h"

#include <algorithm>

#include "base/known_defects.h"

namespace berth::scheduling {

void DecisionFailures::note(const EntityKey& key, const std::string& decision, const std::string& pod_uid,
                            Kind kind, Time now) {
  for (; !noted_.empty() && noted_.front().first + kFailuresForgotten <= now; noted_.pop_front()) {
    const auto old = failed_.find(noted_.front().second);
    if (old != failed_.end() && old->second.latest + kFailuresForgotten <= now) failed_.erase(old);
  }
  FailureCount& failed = failed_[key];
  const bool counted = failed.decision == decision;
  if (kind == Kind::Told) failed.count = std::max(failed.count, counted ? 2u : 1u);
  if (counted && failed.pod_uids.insert(pod_uid).second) return;
  failed = {decision, failed.count + 1, now, {pod_uid}};
  noted_.emplace_back(now, key);
}

std::uint32_t DecisionFailures::repeated(const EntityKey& key, Time now) const {
  const auto failed = failed_.find(key);
  if (failed == failed_.end() || failed->second.latest + kFailuresForgotten <= now) return 0;
  return has(KnownDefect::FailuresWithoutBackoff) ? 0 : failed->second.count - 1;
}

}  // namespace berth::scheduling
