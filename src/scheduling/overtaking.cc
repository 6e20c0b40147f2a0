// The scheduler's half that finds the room to keep for an entry that is overtaken too long.
#include "scheduling/claims.h"
#include "scheduling/scheduler.h"

namespace berth::scheduling {

void Scheduler::forget_overtaken(const EntryKey& key, Time now) {
  if (overtaking_.forget(key)) queue_.wake(kWakePodGone, now);
}

std::vector<NodeId> Scheduler::nodes_to_avoid(const api::Pod& pod, Time now) const {
  std::vector<NodeId> nodes = avoidance_.nodes(pod.meta.uid, now);
  const std::span<const NodeId> kept = overtaking_.kept_nodes(pod.priority);
  nodes.insert(nodes.end(), kept.begin(), kept.end());
  return nodes;
}

// As if nothing of lower priority ran. Cost: O(pods), once for each time that room is looked for.
void Scheduler::remove_lower(const World& world, std::int32_t priority,
                             model::Ledger::Transaction& transaction, std::vector<NodeId>& touched) {
  for (const auto& [name, pod] : world.view.pods.all()) {
    if (pod->priority >= priority) continue;
    const PodId id = cluster_.find_pod(pod->meta.ns, pod->meta.name);
    const NodeId node = cluster_.ledger().node_of(id);
    if (!node.valid()) continue;
    touched.push_back(node);
    transaction.remove_pod(id);
    for (const api::PodClaim& named : pod->claims) {
      const model::ClaimId claim = cluster_.find_claim(pod->meta.ns, api::claim_object_name(*pod, named));
      if (claim.valid() && other_consumers(world, claim, pod->meta.uid) == 0 && cluster_.ledger().hold(claim))
        transaction.remove_claim(claim);
    }
  }
}

void Scheduler::keep_room(const World& world, const EntryKey& key, Time now) {
  std::vector<NodeId> nodes, touched;
  std::vector<std::vector<ClaimChoice>> claims;
  {
    model::Ledger::Transaction transaction(cluster_.ledger());
    if (key.kind == EntryKind::Pod) {
      const api::Pod* pod = world.view.pods.find(key.ns, key.name);
      if (!pod) return overtaking_.give_up(key);
      remove_lower(world, pod->priority, transaction, touched);
      pod_cycle_.begin(attempt_, world, *pod);
      if (const NodeId node = shapes_.choose(attempt_, avoidance_.nodes(pod->meta.uid, now)); node.valid()) {
        pod_cycle_.reserve(attempt_, node, transaction);
        nodes.push_back(node);
        claims.push_back(attempt_.claims);
      }
    } else if (const api::PodGroup* group = world.view.pod_groups.find(key.ns, key.name)) {
      remove_lower(world, group->priority, transaction, touched);
      for (const NodeId node : touched) domains_.use_changed(node);
      const GroupOutcome outcome = group_cycle_.run(world, group_input(world, *group, now), transaction);
      for (const MemberOutcome& member : outcome.members) {
        if (outcome.kind != GroupOutcome::Kind::Placed || !member.node.valid()) continue;
        nodes.push_back(member.node);
        claims.push_back(member.claims);
      }
    }
  }
  for (const NodeId node : touched) domains_.use_changed(node);
  if (nodes.empty()) return overtaking_.give_up(key);
  std::vector<model::DeviceId> devices;
  for (const std::vector<ClaimChoice>& of_member : claims)
    for (const ClaimChoice& choice : of_member)
      if (const model::ClaimHoldPtr hold = choice.allocation ? cluster_.hold_for(choice.allocation) : nullptr)
        for (const model::HeldDevice& held : hold->devices) devices.push_back(held.device);
  overtaking_.keep(key, std::move(nodes), std::move(devices), now);
}

}  // namespace berth::scheduling
