#include "scheduling/claims.h"

#include <algorithm>
#include <set>

#include "api/types/device_readiness.h"
#include "base/known_defects.h"
#include "client/claim_writes.h"
#include "dra/allocator.h"

namespace berth::scheduling {
namespace {

client::Chain deallocation(const api::ResourceClaim& claim) {
  return {client::key_of(api::Kind::ResourceClaim, claim.meta), {client::clear_allocation(claim)}};
}

// Nobody but this pod has it, and nobody is about to.
bool is_ours_alone(const World& world, model::ClaimId claim, const api::Pod& pod) {
  const model::ClaimRow& row = world.cluster.claim(claim);
  const bool carried =
      std::any_of(row.bind_requests.begin(), row.bind_requests.end(),
                  [&](const auto& request) { return world.cluster.stands(*request.second); });
  return row.live && row.live->allocation && !row.live->meta.deleting() && !carried &&
         row.assumed_by.empty() && other_consumers(world, claim, pod.meta.uid) == 0;
}

}  // namespace

std::size_t other_consumers(const World& world, model::ClaimId claim, std::string_view pod_uid) {
  const model::ClaimRow& row = world.cluster.claim(claim);
  std::set<std::string_view> uids;
  if (row.live)
    for (const api::ClaimConsumer& consumer : row.live->reserved_for) uids.insert(consumer.uid);
  for (const auto& [name, request] : row.bind_requests)
    if (world.cluster.stands(*request)) uids.insert(request->pod_uid);
  for (const std::string& uid : row.assumed_by) uids.insert(uid);
  uids.erase(pod_uid);
  return uids.size();
}

bool is_unusable(const World& world, const api::ResourceClaim& claim) {
  if (!world.allocator.gates().binding_conditions) return false;
  const api::DeviceReadiness readiness = api::readiness_of(claim);
  if (readiness.ready()) return false;
  const Time deadline = api::binding_deadline(claim, world.binding_timeout);
  return readiness.failure || (deadline.is_set() && world.now.is_set() && world.now >= deadline);
}

std::vector<client::Chain> deallocations(const Attempt& attempt, ShapeIndex& shapes, const PodCycle& pods,
                                         model::Ledger::Transaction& transaction) {
  if (has(KnownDefect::FailedBindingKeepsClaims)) return {};
  const World& world = *attempt.world;
  std::vector<client::Chain> unusable, sound;
  const auto before = transaction.savepoint();
  for (const ClaimChoice& choice : attempt.claims) {
    if (!choice.allocation || !is_ours_alone(world, choice.claim, *attempt.pod)) continue;
    const api::ResourceClaim& claim = *world.cluster.claim(choice.claim).live;
    (choice.state == ClaimState::Unusable ? unusable : sound).push_back(deallocation(claim));
    transaction.remove_claim(choice.claim);
  }
  bool helps = false;
  if (unusable.empty() && !sound.empty()) {
    Attempt without;
    pods.begin(without, world, *attempt.pod);
    helps = shapes.choose(without, {}).valid();
  }
  transaction.roll_back_to(before);
  return helps ? std::move(sound) : std::move(unusable);
}

}  // namespace berth::scheduling
