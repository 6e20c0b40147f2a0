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

void avoid_too(std::span<const model::NodeId> nodes, GroupInput& input) {
  if (nodes.empty()) return;
  for (const api::Pod* member : input.waiting) {
    std::vector<model::NodeId>& of_member = input.avoid[member->meta.uid];
    of_member = together(of_member, nodes);
  }
}

}  // namespace

AvoidSet Scheduler::avoid_set(const api::Pod& pod, Time now) const {
  return {loop_.avoid_list.nodes(pod.meta.uid, now), loop_.avoid_list.devices(loop_.cluster, pod, now)};
}

// Removes all pods of a priority below `bound`, the claims that nobody else uses, and the reservation pods of
// GPUs that nobody else shares. Cost: O(pods), once for each search.
void Scheduler::remove_lower(const SchedulingContext& context, std::int64_t bound,
                             model::GroupClaims group_claims, model::Ledger::Transaction& transaction) {
  model::Cluster& cluster = loop_.cluster;
  const auto place_of = [&](const api::Pod& pod) {
    return cluster.ledger().node_of(cluster.find_pod(pod.meta.ns, pod.meta.name));
  };
  const auto remove = [&](const api::Pod& pod) {
    cluster.remove(cluster.find_pod(pod.meta.ns, pod.meta.name), group_claims, transaction);
  };
  std::vector<const api::Pod*> reservations;
  for (const auto& [name, pod] : context.view.pods.all()) {
    if (!place_of(*pod).valid()) continue;
    if (api::is_gpu_reservation(*pod))
      reservations.push_back(pod.get());
    else if (pod->priority < bound)
      remove(*pod);
  }
  for (const api::Pod* pod : reservations)
    if (placement::holds_gpu_alone(cluster.ledger().node(place_of(*pod)), *pod)) remove(*pod);
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

// What the entry would take, on other nodes than `avoided`, if no pod of lower priority ran, or none of its
// own. Nothing: it fits nowhere.
model::Hold Scheduler::find_room(const SchedulingContext& context, const EntityKey& key,
                                 std::span<const model::NodeId> avoided, Equals equals,
                                 model::GroupClaims group_claims) {
  const auto room = [&](const auto* entry) {
    if (!entry) return model::Hold{};
    model::Ledger::Transaction transaction(loop_.cluster.ledger());
    const bool without = equals == Equals::Removed;
    remove_lower(context, std::int64_t{entry->priority} + (without ? 1 : 0), group_claims, transaction);
    const auto removed = transaction.savepoint();
    if (!place_entry(context, *entry, avoided, transaction)) return model::Hold{};
    model::Hold hold = loop_.cluster.hold_for(transaction.take_since(removed), entry->priority);
    hold.binds_equals = loop_.overtaking.overtaken_by_equals(key);
    return hold;
  };
  if (key.kind == EntityKind::Pod) return room(context.view.pods.find(key.ns, key.name));
  if (key.kind == EntityKind::Group) return room(context.view.pod_groups.find(key.ns, key.name));
  return room(context.view.composite_groups.find(key.ns, key.name));
}

// Pods end by themselves; when a group ends that has a claim, nobody knows. So devices of such claims are
// reserved only where there is no other room.
model::Hold Scheduler::find_room(const SchedulingContext& context, const EntityKey& key,
                                 std::span<const model::NodeId> avoided) {
  for (const Equals equals : {Equals::Kept, Equals::Removed}) {
    std::vector<model::NodeId> all_avoided(avoided.begin(), avoided.end());
    if (equals == Equals::Removed) {
      if (!loop_.overtaking.overtaken_by_equals(key)) break;
      for (const auto& [name, node] : loop_.cluster.live_nodes())
        if (!loop_.overtaking.is_left_by_pods(node, context.now)) all_avoided.push_back(node);
    }
    std::ranges::sort(all_avoided);
    all_avoided.erase(std::ranges::unique(all_avoided).begin(), all_avoided.end());
    for (const model::GroupClaims claims : {model::GroupClaims::Kept, model::GroupClaims::Freed})
      if (model::Hold room = find_room(context, key, all_avoided, equals, claims); !room.places.empty())
        return room;
  }
  return {};
}

void Scheduler::keep_room(const SchedulingContext& context, const EntityKey& key) {
  model::Hold room = find_room(context, key, loop_.overtaking.in_vain_nodes(key));
  if (room.places.empty() && !loop_.overtaking.in_vain_nodes(key).empty()) {
    loop_.overtaking.forget_in_vain_nodes(key);
    room = find_room(context, key, {});
  }
  if (room.places.empty()) return loop_.overtaking.give_up(key, context.now);
  loop_.overtaking.keep(key, model::ScopedHold(loop_.cluster.ledger(), std::move(room)), context.now);
}

}  // namespace berth::scheduling
