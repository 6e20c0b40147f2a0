// The part of Scheduler that finds room for an overtaken entry, and keeps it.
#include <algorithm>

#include "api/types/gpu_share.h"
#include "placement/preemption/victims.h"
#include "scheduling/scheduler.h"

namespace berth::scheduling {
namespace {

// Both are ascending, and so is the result.
std::vector<model::NodeId> together(std::span<const model::NodeId> a, std::span<const model::NodeId> b) {
  std::vector<model::NodeId> all;
  all.reserve(a.size() + b.size());
  std::ranges::set_union(a, b, std::back_inserter(all));
  return all;
}

// `avoided` is ascending.
bool avoids_all(const model::Cluster& cluster, std::span<const model::NodeId> avoided) {
  return std::ranges::all_of(cluster.live_nodes(), [&](const auto& named) {
    return std::ranges::binary_search(avoided, named.second);
  });
}

void avoid_too(std::span<const model::NodeId> nodes, GroupInput& input) {
  if (nodes.empty()) return;
  const placement::AvoidedNodes more({nodes.begin(), nodes.end()});
  for (const api::Pod* member : input.waiting) {
    placement::AvoidedNodes& of_member = input.avoid[member->meta.uid];
    of_member = of_member.with(more);
  }
}

}  // namespace

AvoidSet Scheduler::avoid_set(const api::Pod& pod, Time now) const {
  return {loop_.avoid_list.nodes(pod.meta.uid, now), loop_.avoid_list.devices(loop_.cluster, pod, now)};
}

std::vector<const api::Pod*> Scheduler::placed_pods() const {
  std::vector<const api::Pod*> placed;
  const std::vector<model::NodeRow>& nodes = loop_.cluster.nodes();
  for (std::uint32_t node = 0; node < nodes.size(); ++node)
    for (const model::PodId id : loop_.cluster.ledger().node(model::NodeId(node)).pods)
      if (const api::Pod* pod = loop_.cluster.pod(id).live.get()) placed.push_back(pod);
  return placed;
}

// Removes all pods of a priority below `bound`, the claims that nobody else uses, and the reservation pods of
// GPUs that nobody else shares. False: there are none. Cost: O(placed pods), once for each search.
bool Scheduler::remove_lower(std::int64_t bound, model::GroupClaims group_claims,
                             model::Ledger::Transaction& transaction) {
  bool any = false;
  for (const api::Pod* pod : placed_pods()) {
    if (pod->priority >= bound || api::is_gpu_reservation(*pod)) continue;
    remove_placed(*pod, group_claims, transaction);
    any = true;
  }
  return remove_idle_reservation_pods(group_claims, transaction) || any;
}

void Scheduler::remove_placed(const api::Pod& pod, model::GroupClaims group_claims,
                              model::Ledger::Transaction& transaction) {
  model::Cluster& cluster = loop_.cluster;
  const model::PodId id = cluster.find_pod(pod.meta.ns, pod.meta.name);
  if (cluster.ledger().node_of(id).valid()) cluster.remove(id, group_claims, transaction);
}

bool Scheduler::remove_idle_reservation_pods(model::GroupClaims group_claims,
                                             model::Ledger::Transaction& transaction) {
  const model::Ledger& ledger = loop_.cluster.ledger();
  bool any = false;
  for (const api::Pod* pod : placed_pods()) {
    if (!api::is_gpu_reservation(*pod)) continue;
    const model::NodeId node = ledger.node_of(loop_.cluster.find_pod(pod->meta.ns, pod->meta.name));
    if (!node.valid() || !placement::holds_gpu_alone(ledger.node(node), *pod)) continue;
    remove_placed(*pod, group_claims, transaction);
    any = true;
  }
  return any;
}

bool Scheduler::place_entry(const SchedulingContext& context, const api::Pod& pod,
                            std::span<const model::NodeId> avoided, model::Ledger::Transaction& transaction) {
  const std::vector<model::NodeId> avoid =
      together(loop_.avoid_list.nodes(pod.meta.uid, context.now), avoided);
  return core_.place_pod(context, pod, avoid, transaction).has_value();
}

bool Scheduler::place_entry(const SchedulingContext& context, const api::PodGroup& group,
                            std::span<const model::NodeId> avoided, model::Ledger::Transaction& transaction) {
  std::optional<GroupInput> input = input_of(context, group, context.now);
  if (!input) return false;
  avoid_too(avoided, *input);
  return core_.place_group(context, *input, transaction).kind == GroupOutcome::Kind::Placed;
}

bool Scheduler::place_entry(const SchedulingContext& context, const api::CompositePodGroup& root,
                            std::span<const model::NodeId> avoided, model::Ledger::Transaction& transaction) {
  std::optional<TreeInput> input =
      input_of_tree(context, {root.meta.ns, root.meta.name, EntityKind::CompositeGroup}, context.now);
  if (!input) return false;
  for (placement::TreeNode& node : input->nodes) avoid_too(avoided, node.group);
  return core_.place_tree(context, *input, transaction).kind == GroupOutcome::Kind::Placed;
}

bool Scheduler::place_entry(const SchedulingContext& context, const EntityKey& key,
                            std::span<const model::NodeId> avoided, model::Ledger::Transaction& transaction) {
  const auto place = [&](const auto* entry) {
    return entry && place_entry(context, *entry, avoided, transaction);
  };
  if (key.kind == EntityKind::Pod) return place(context.view.pods.find(key.ns, key.name));
  if (key.kind == EntityKind::Group) return place(context.view.pod_groups.find(key.ns, key.name));
  return place(context.view.composite_groups.find(key.ns, key.name));
}

// What the entry takes once `remove` has made room, on other nodes than `avoided`. Nothing: it fits nowhere.
model::Hold Scheduler::room_after(const SchedulingContext& context, const QueuedEntity& entry,
                                  std::span<const model::NodeId> avoided,
                                  const std::function<void(model::Ledger::Transaction&)>& remove) {
  model::Ledger::Transaction transaction(loop_.cluster.ledger());
  remove(transaction);
  const auto removed = transaction.savepoint();
  if (!place_entry(context, entry.key, avoided, transaction)) return {};
  model::Hold hold = loop_.cluster.hold_for(transaction.take_since(removed), entry.priority);
  hold.binds_equals = loop_.overtaking.overtaken_by_equals(entry.key);
  return hold;
}

// If no pod of lower priority ran, or none of its own either. Pods end by themselves; when a group ends that
// has a claim, nobody knows. So devices of such claims are reserved only where there is no other room.
model::Hold Scheduler::find_room(const SchedulingContext& context, const QueuedEntity& entry,
                                 std::span<const model::NodeId> avoided) {
  for (const std::int64_t bound : {std::int64_t{entry.priority}, std::int64_t{entry.priority} + 1}) {
    std::vector<model::NodeId> all_avoided(avoided.begin(), avoided.end());
    if (bound > entry.priority) {
      if (!loop_.overtaking.overtaken_by_equals(entry.key)) break;
      for (const auto& [name, node] : loop_.cluster.live_nodes())
        if (!loop_.overtaking.is_left_by_pods(node, context.now)) all_avoided.push_back(node);
    }
    std::ranges::sort(all_avoided);
    all_avoided.erase(std::ranges::unique(all_avoided).begin(), all_avoided.end());
    if (avoids_all(loop_.cluster, all_avoided)) continue;
    bool removed = false;
    for (const model::GroupClaims claims : {model::GroupClaims::Kept, model::GroupClaims::Freed}) {
      if (claims == model::GroupClaims::Freed && !removed) break;
      const auto remove = [&](model::Ledger::Transaction& transaction) {
        removed = remove_lower(bound, claims, transaction);
      };
      if (model::Hold room = room_after(context, entry, all_avoided, remove); !room.places.empty())
        return room;
    }
  }
  return {};
}

void Scheduler::keep_room(const SchedulingContext& context, const QueuedEntity& entry) {
  RoomInTime found = find_earliest_room(context, entry);
  if (found.room.places.empty()) {
    const std::span<const model::NodeId> in_vain = loop_.overtaking.in_vain_nodes(entry.key);
    found = {find_room(context, entry, in_vain), Time()};
    if (found.room.places.empty() && !in_vain.empty()) {
      loop_.overtaking.forget_in_vain_nodes(entry.key);
      found = {find_room(context, entry, {}), Time()};
    }
  }
  if (found.room.places.empty()) return loop_.overtaking.give_up(entry.key, context.now);
  loop_.overtaking.keep(entry.key, model::ScopedHold(loop_.cluster.ledger(), std::move(found.room)),
                        found.free_at, context.now);
}

}  // namespace berth::scheduling
