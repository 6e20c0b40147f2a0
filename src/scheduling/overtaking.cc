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

void Scheduler::add_room(KeptRoom& room, NodeId node, const std::vector<ClaimChoice>& claims) {
  room.nodes.push_back(node);
  for (const ClaimChoice& choice : claims)
    if (const model::ClaimHoldPtr hold = choice.allocation ? cluster_.hold_for(choice.allocation) : nullptr)
      for (const model::HeldDevice& held : hold->devices) room.devices.push_back(held.device);
}

KeptRoom Scheduler::room_of_pod(const World& world, const api::Pod& pod, std::vector<NodeId> avoided,
                                model::Ledger::Transaction& transaction) {
  KeptRoom room;
  const std::vector<NodeId> failed = avoidance_.nodes(pod.meta.uid, world.now);
  avoided.insert(avoided.end(), failed.begin(), failed.end());
  pod_cycle_.begin(attempt_, world, pod);
  const NodeId node = shapes_.choose(attempt_, avoided);
  if (!node.valid()) return room;
  if (pod_cycle_.reserve(attempt_, node, transaction)) add_room(room, node, attempt_.reservation.claims);
  return room;
}

KeptRoom Scheduler::room_of_group(const World& world, const api::PodGroup& group,
                                  std::span<const NodeId> avoided, model::Ledger::Transaction& transaction) {
  KeptRoom room;
  GroupInput input = group_input(world, group, world.now);
  for (const api::Pod* member : input.waiting) {
    std::vector<NodeId>& of_member = input.avoid[member->meta.uid];
    of_member.insert(of_member.end(), avoided.begin(), avoided.end());
  }
  const GroupOutcome outcome = group_cycle_.run(world, input, transaction);
  if (outcome.kind != GroupOutcome::Kind::Placed) return room;
  for (const MemberOutcome& member : outcome.members)
    if (member.node.valid()) add_room(room, member.node, member.claims);
  return room;
}

// Where the entry would stand if nothing of lower priority ran, apart from these nodes; may be nowhere.
KeptRoom Scheduler::find_room(const World& world, const EntryKey& key, std::span<const NodeId> avoided) {
  KeptRoom room;
  std::vector<NodeId> touched;
  {
    model::Ledger::Transaction transaction(cluster_.ledger());
    const bool is_pod = key.kind == EntryKind::Pod;
    if (const api::Pod* pod = is_pod ? world.view.pods.find(key.ns, key.name) : nullptr) {
      remove_lower(world, pod->priority, transaction, touched);
      room = room_of_pod(world, *pod, {avoided.begin(), avoided.end()}, transaction);
    } else if (const api::PodGroup* group = is_pod ? nullptr : world.view.pod_groups.find(key.ns, key.name)) {
      remove_lower(world, group->priority, transaction, touched);
      for (const NodeId node : touched) domains_.use_changed(node);
      room = room_of_group(world, *group, avoided, transaction);
    }
  }
  for (const NodeId node : touched) domains_.use_changed(node);
  return room;
}

void Scheduler::keep_room(const World& world, const EntryKey& key) {
  KeptRoom room = find_room(world, key, overtaking_.in_vain_nodes(key));
  if (room.nodes.empty() && !overtaking_.in_vain_nodes(key).empty()) {
    overtaking_.forget_in_vain_nodes(key);
    room = find_room(world, key, {});
  }
  if (room.nodes.empty()) return overtaking_.give_up(key);
  overtaking_.keep(key, std::move(room), world.now);
}

}  // namespace berth::scheduling
