// The part of Scheduler that finds nodes and devices to reserve for an overtaken entry.
#include "scheduling/claims.h"
#include "scheduling/scheduler.h"

namespace berth::scheduling {

void Scheduler::forget_overtaken(const EntityKey& key, Time now) {
  if (overtaking_.forget(key)) queue_.wake(kEventPodGone, now);
}

AvoidSet Scheduler::avoid_set(const api::Pod& pod, Time now) const {
  AvoidSet avoid{avoid_list_.nodes(pod.meta.uid, now), avoid_list_.devices(cluster_, pod, now)};
  const std::span<const NodeId> nodes = overtaking_.kept_nodes(pod.priority);
  avoid.nodes.insert(avoid.nodes.end(), nodes.begin(), nodes.end());
  return avoid;
}

// Removes all pods of lower priority and their claims. Cost: O(pods), once for each search.
void Scheduler::remove_lower(const SchedulingContext& context, std::int32_t priority,
                             model::Ledger::Transaction& transaction) {
  for (const auto& [name, pod] : context.view.pods.all()) {
    if (pod->priority >= priority) continue;
    const PodId id = cluster_.find_pod(pod->meta.ns, pod->meta.name);
    if (!cluster_.ledger().node_of(id).valid()) continue;
    transaction.remove_pod(id);
    for (const api::PodClaim& named : pod->claims) {
      const model::ClaimId claim = cluster_.find_claim(pod->meta.ns, api::claim_object_name(*pod, named));
      if (claim.valid() && other_consumers(context, claim, *pod) == 0 && cluster_.ledger().reservation(claim))
        transaction.remove_claim(claim);
    }
  }
}

void Scheduler::add_room(BackfillReservation& room, NodeId node, const ReservationPtr& reservation) {
  room.nodes.push_back(node);
  for (const ClaimChoice& choice : value_of(reservation).claims)
    if (choice.allocation)
      for (const model::ReservedDevice& held : cluster_.reservation_for(choice.allocation)->devices)
        room.devices.push_back(held.device);
}

BackfillReservation Scheduler::room_of_pod(const SchedulingContext& context, const api::Pod& pod,
                                           std::vector<NodeId> avoided,
                                           model::Ledger::Transaction& transaction) {
  BackfillReservation room;
  const std::vector<NodeId> failed = avoid_list_.nodes(pod.meta.uid, context.now);
  avoided.insert(avoided.end(), failed.begin(), failed.end());
  if (const auto placed = core_.place_pod(context, pod, avoided, transaction))
    add_room(room, placed->node, placed->reservation);
  return room;
}

BackfillReservation Scheduler::room_of_group(const SchedulingContext& context, const api::PodGroup& group,
                                             std::span<const NodeId> avoided,
                                             model::Ledger::Transaction& transaction) {
  BackfillReservation room;
  GroupInput input = input_of(context, group, context.now);
  for (const api::Pod* member : input.waiting) {
    std::vector<NodeId>& of_member = input.avoid[member->meta.uid];
    of_member.insert(of_member.end(), avoided.begin(), avoided.end());
  }
  const GroupOutcome outcome = core_.place_group(context, input, transaction);
  if (outcome.kind != GroupOutcome::Kind::Placed) return room;
  for (const MemberOutcome& member : outcome.members)
    if (member.node.valid()) add_room(room, member.node, member.reservation);
  return room;
}

// The nodes and devices, without `avoided`, that the entry would use if no pod of lower priority ran. Empty:
// it fits nowhere.
BackfillReservation Scheduler::find_room(const SchedulingContext& context, const EntityKey& key,
                                         std::span<const NodeId> avoided) {
  model::Ledger::Transaction transaction(cluster_.ledger());
  if (key.kind == EntityKind::Pod) {
    const api::Pod* pod = context.view.pods.find(key.ns, key.name);
    if (!pod) return {};
    remove_lower(context, pod->priority, transaction);
    return room_of_pod(context, *pod, {avoided.begin(), avoided.end()}, transaction);
  }
  const api::PodGroup* group = context.view.pod_groups.find(key.ns, key.name);
  if (!group) return {};
  remove_lower(context, group->priority, transaction);
  return room_of_group(context, *group, avoided, transaction);
}

void Scheduler::keep_room(const SchedulingContext& context, const EntityKey& key) {
  BackfillReservation room = find_room(context, key, overtaking_.in_vain_nodes(key));
  if (room.nodes.empty() && !overtaking_.in_vain_nodes(key).empty()) {
    overtaking_.forget_in_vain_nodes(key);
    room = find_room(context, key, {});
  }
  if (room.nodes.empty()) return overtaking_.give_up(key);
  overtaking_.keep(key, std::move(room), context.now);
}

}  // namespace berth::scheduling
