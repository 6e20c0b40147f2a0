// The part of Scheduler that finds room for an overtaken entry, and keeps it.
#include "scheduling/scheduler.h"

namespace berth::scheduling {

void Scheduler::forget_overtaken(const EntityKey& key, Time now) {
  if (overtaking_.forget(key)) queue_.wake(kEventPodGone, now);
}

AvoidSet Scheduler::avoid_set(const api::Pod& pod, Time now) const {
  return {avoid_list_.nodes(pod.meta.uid, now), avoid_list_.devices(cluster_, pod, now)};
}

// Removes all pods of lower priority, and the claims that nobody else uses. Cost: O(pods), once for each
// search.
void Scheduler::remove_lower(const SchedulingContext& context, std::int32_t priority,
                             model::Ledger::Transaction& transaction) {
  for (const auto& [name, pod] : context.view.pods.all()) {
    if (pod->priority >= priority) continue;
    const model::PodId id = cluster_.find_pod(pod->meta.ns, pod->meta.name);
    if (cluster_.ledger().node_of(id).valid()) cluster_.remove(id, transaction);
  }
}

bool Scheduler::place_entry(const SchedulingContext& context, const api::Pod& pod,
                            std::span<const model::NodeId> avoided, model::Ledger::Transaction& transaction) {
  std::vector<model::NodeId> avoid = avoid_list_.nodes(pod.meta.uid, context.now);
  avoid.insert(avoid.end(), avoided.begin(), avoided.end());
  return core_.place_pod(context, pod, avoid, transaction).has_value();
}

bool Scheduler::place_entry(const SchedulingContext& context, const api::PodGroup& group,
                            std::span<const model::NodeId> avoided, model::Ledger::Transaction& transaction) {
  GroupInput input = input_of(context, group, context.now);
  for (const api::Pod* member : input.waiting) {
    std::vector<model::NodeId>& of_member = input.avoid[member->meta.uid];
    of_member.insert(of_member.end(), avoided.begin(), avoided.end());
  }
  return core_.place_group(context, input, transaction).kind == GroupOutcome::Kind::Placed;
}

// What the entry would take, on other nodes than `avoided`, if no pod of lower priority ran. Nothing: it fits
// nowhere.
model::Hold Scheduler::find_room(const SchedulingContext& context, const EntityKey& key,
                                 std::span<const model::NodeId> avoided) {
  const auto room = [&](const auto* entry) {
    if (!entry) return model::Hold{};
    model::Ledger::Transaction transaction(cluster_.ledger());
    remove_lower(context, entry->priority, transaction);
    const auto removed = transaction.savepoint();
    if (!place_entry(context, *entry, avoided, transaction)) return model::Hold{};
    return cluster_.hold_for(transaction.take_since(removed), entry->priority);
  };
  return key.kind == EntityKind::Pod ? room(context.view.pods.find(key.ns, key.name))
                                     : room(context.view.pod_groups.find(key.ns, key.name));
}

void Scheduler::keep_room(const SchedulingContext& context, const EntityKey& key) {
  model::Hold room = find_room(context, key, overtaking_.in_vain_nodes(key));
  if (room.places.empty() && !overtaking_.in_vain_nodes(key).empty()) {
    overtaking_.forget_in_vain_nodes(key);
    room = find_room(context, key, {});
  }
  if (room.places.empty()) return overtaking_.give_up(key);
  overtaking_.keep(key, model::ScopedHold(cluster_.ledger(), std::move(room)), context.now);
}

}  // namespace berth::scheduling
