#include "scheduling/loop_state.h"

#include <algorithm>

#include "placement/preemption/victims.h"

namespace berth::scheduling {

LoopState::LoopState(SchedulerOptions given)
    : options(std::move(given)),
      cluster(options.gates.node_allocatable_resources ? model::NodeAllocatable::Counted
                                                       : model::NodeAllocatable::Ignored),
      queue(options.backoff),
      overtaking(options.overtaking_limit),
      relocations(options.defragmentation) {}

bool LoopState::ours(const api::Pod& pod) const {
  const std::vector<std::string>& names = options.scheduler_names;
  return std::find(names.begin(), names.end(), pod.scheduler_name) != names.end();
}

bool LoopState::wants_place(const client::View& view, const api::Pod& pod) const {
  return ours(pod) && placement::wants_place(view, cluster, pod);
}

bool LoopState::wants_to_grow(const api::Pod& pod) const {
  return options.deferred_resizes && ours(pod) && pod.bound() && !pod.finished() && !pod.meta.deleting() &&
         api::is_resize_deferred(pod);
}

void LoopState::forget_room(const EntityKey& key, Time now) {
  const bool overtaken = overtaking.forget(key), preempted = evictions.leave(key);
  const bool served = relocations.forget(key);
  if (overtaken || preempted || served) queue.wake(kEventRoomFreed, now);
}

std::optional<model::HoldId> LoopState::held_for(const EntityKey& key) const {
  if (const auto served = relocations.hold_of(key)) return served;
  return key.kind == EntityKind::Pod ? nominations.hold_of(key) : replacements.hold_of(key);
}

void LoopState::keep_successor_room(const client::View& view, const SuccessorPlace& place, Time until) {
  const api::Pod& pod = *cluster.pod(place.leaving).live;
  model::Hold hold = cluster.hold_for(place.room, model::binding_equals(placement::priority_of(view, pod)));
  hold.leaving.push_back(place.leaving);
  rooms.keep(pod, place.node, model::ScopedHold(cluster.ledger(), std::move(hold)), until);
}

void LoopState::forget_rooms_of_spared(Time now) {
  const auto stays = [this](const EvictedPod& victim) {
    const model::PodId id = cluster.find_pod(victim.key.ns, victim.key.name);
    const api::Pod* live = id.valid() ? cluster.pod(id).live.get() : nullptr;
    return live && live->meta.uid == victim.uid && !live->meta.deleting();
  };
  bool ended = false;
  for (const EvictedPod& victim : evictions.take_spared())
    if (stays(victim)) ended |= rooms.give_up(victim.uid);
  if (ended) queue.wake(kEventRoomFreed, now);
}

void LoopState::forget_successor_room(const api::Pod& pod, model::NodeId node, Time now) {
  if (rooms.placed(pod, node)) queue.wake(kEventRoomFreed, now);
}

void LoopState::statuses_changed(const client::View& view, const GroupKey& group, Time now) {
  for (const GroupKey& named : with_those_above(view, group))
    for (const std::string& policy : policy_members.policies_of(named))
      policy_statuses.policy_changed(named.ns, policy, now);
}

EntityKey LoopState::entry_of(const client::View& view, const api::Pod& pod) const {
  if (pod.group.empty()) return {pod.meta.ns, pod.meta.name, EntityKind::Pod};
  return entry_of_group(view, pod.meta.ns, pod.group);
}

EntityKey LoopState::entry_of_group(const client::View& view, const std::string& ns,
                                    const std::string& name) const {
  const api::PodGroup* group = options.composite_groups ? view.pod_groups.find(ns, name) : nullptr;
  client::TreeTop top = group ? client::tree_top(view, *group) : client::TreeTop();
  if (top.name.empty()) return {ns, name, EntityKind::Group};
  return {ns, std::move(top.name), EntityKind::CompositeGroup};
}

}  // namespace berth::scheduling
