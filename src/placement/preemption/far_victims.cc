#include "placement/preemption/far_victims.h"

#include <algorithm>

#include "placement/preemption/victims.h"

namespace berth::placement {
namespace {

bool is_for_one_pod(const client::View& view, const api::Pod& pod, const api::PodVolume& volume) {
  const auto* claim = view.volume_claims.find(pod.meta.ns, volume.claim_name);
  return claim && claim->has_access_mode(api::kReadWriteOncePod);
}

// The pods of the node that the rule counts: without them it counts something else.
void add_counted(const model::Cluster& cluster, const DomainRule& rule, NodeId node,
                 model::Ledger::Transaction& transaction, std::vector<PodId>& counted) {
  const std::optional<std::int64_t> all = rule.amount(node);
  if (!all || *all == 0) return;
  const std::vector<PodId> pods = cluster.ledger().node(node).pods;
  for (const PodId pod : pods) {
    if (counted.size() >= kFarPodsMax) return;
    const auto before = transaction.savepoint();
    remove_victim(cluster, pod, model::GroupClaims::Kept, transaction);
    if (rule.amount(node) != all) counted.push_back(pod);
    transaction.roll_back_to(before);
  }
}

}  // namespace

bool may_have_far_victims(const PodCycle& pods, CycleState& state, const SchedulingContext& context,
                          const api::Pod& pod, model::Ledger::Transaction& transaction) {
  const bool by_volume = std::ranges::any_of(
      pod.volumes, [&](const api::PodVolume& volume) { return is_for_one_pod(context.view, pod, volume); });
  if (by_volume) return true;
  pods.begin(state, context, pod, &transaction);
  return pods.prepare(state) && pods.has_rules(state);
}

std::vector<PodId> far_victims(const PodCycle& pods, CycleState& state, const SchedulingContext& context,
                               const api::Pod& pod, NodeId node, model::Ledger::Transaction& transaction) {
  const model::Cluster& cluster = context.cluster;
  std::vector<PodId> far;
  for (const api::PodVolume& volume : pod.volumes)
    if (is_for_one_pod(context.view, pod, volume))
      for (const api::Pod* user : context.view.pods_using_volume_claim(pod.meta.ns, volume.claim_name))
        if (const PodId id = cluster.find_pod(user->meta.ns, user->meta.name);
            id.valid() && cluster.ledger().node_of(id).valid())
          far.push_back(id);
  pods.begin(state, context, pod, &transaction);
  if (!pods.prepare(state)) return far;
  for (const PodCycle::RefusingRule& refusing : pods.refusing_rules(state, node))
    for (const NodeId other : refusing.nodes)
      if (other != node) add_counted(cluster, refusing.rule, other, transaction, far);
  std::ranges::sort(far);
  far.erase(std::ranges::unique(far).begin(), far.end());
  return far;
}

}  // namespace berth::placement
