// The part of EntryGate that is about trees of groups: an entry each, by its root.
#include <algorithm>

#include "placement/refusal/berth_words.h"
#include "scheduling/entry_gate.h"
#include "scheduling/writes.h"

namespace berth::scheduling {
namespace {

// Nothing under the key waits for it, or ever did: its PodGroups are in a tree with another top.
bool is_no_entry(const TreeMembers& tree) {
  return std::none_of(tree.nodes.begin(), tree.nodes.end(),
                      [](const placement::TreeMember& node) { return node.group != nullptr; });
}

}  // namespace

TreeMembers EntryGate::tree_of(const client::View& view, const EntityKey& key) const {
  return placement::tree_members(view, loop_.cluster, questions(), key);
}

// The commit writes this on the root alone.
void EntryGate::tell_tree_scheduled(const client::View& view, const TreeMembers& tree, Time now) {
  for (const placement::TreeMember& node : tree.nodes) {
    if (node.group && node.scheduled)
      tell_scheduled(view, client::key_of(api::Kind::PodGroup, node.group->meta), *node.group, {}, now);
    if (node.composite && node.scheduled)
      tell_scheduled(view, client::key_of(api::Kind::CompositePodGroup, node.composite->meta),
                     *node.composite, node.parent ? Duration() : kCommitTellsWithin, now);
  }
}

// What is wrong with its shape, on all its objects; that groups are missing, on the root.
void EntryGate::tell_tree_held(const client::View& view, const TreeMembers& tree,
                               const placement::GroupGate& held, Time now) {
  for (const placement::TreeMember& node : tree.nodes) {
    if (node.scheduled || (!tree.fault && node.parent)) continue;
    if (node.group)
      tell_held(view, client::key_of(api::Kind::PodGroup, node.group->meta), *node.group, held, now);
    if (node.composite)
      tell_held(view, client::key_of(api::Kind::CompositePodGroup, node.composite->meta), *node.composite,
                held, now);
  }
}

// The tree is complete, so kube-scheduler tries these members and says that it found no place.
void EntryGate::tell_members_held(const client::View& view, const TreeMembers& tree,
                                  const placement::GroupGate& held, Time now) {
  const SchedulingFailure failure{"Unschedulable",
                                  "pod group is unschedulable, " + placement::gate_words(held), "", ""};
  for (const placement::TreeMember& node : tree.nodes)
    for (const api::Pod* pod : node.members.waiting)
      loop_.conditions.want(view, refused_pod(*pod, failure, now), now);
}

void EntryGate::log_gate(const TreeMembers& tree, const placement::GateReason& gate, Time now) {
  log_gate(tree.key, gate, now);
  for (const placement::TreeMember& node : tree.nodes)
    if (node.group && !node.members.waiting.empty())
      log_gate(EntityKey{tree.key.ns, node.group->meta.name, EntityKind::Group}, gate, now);
}

std::optional<placement::GateReason> EntryGate::gate(const client::View& view, const TreeMembers& tree,
                                                     Time now) {
  std::optional<placement::GateReason> closed;
  for (const placement::TreeMember& node : tree.nodes) {
    std::optional<placement::GateReason> own;
    gate_members(view, node.members, own, now);
    // A group that is not tried does not hold the others, unless it has a decision under way.
    if (own && !closed && (node.tried || node.members.unsettled)) closed = std::move(own);
  }
  if (const auto fault = policy_gate_of_tree(view, tree, now); fault && !closed) closed = *fault;
  const std::optional<placement::GroupGate> held = placement::tree_gate(tree);
  if (!held) return closed;
  tell_tree_held(view, tree, *held, now);
  if (!tree.fault && tree.root().complete && !closed) tell_members_held(view, tree, *held, now);
  return closed ? closed : *held;
}

// The first one of its groups; each group with a fault says so itself.
std::optional<placement::GroupGate> EntryGate::policy_gate_of_tree(const client::View& view,
                                                                   const TreeMembers& tree, Time now) {
  std::optional<placement::GroupGate> first;
  for (const placement::TreeMember& node : tree.nodes) {
    std::optional<placement::GroupGate> gate;
    if (node.group) gate = policy_gate(view, *node.group, now);
    if (node.composite) gate = policy_gate(view, *node.composite, now);
    if (gate && !first) first = std::move(gate);
  }
  return first;
}

void EntryGate::note_counts(const TreeMembers& tree, const std::optional<placement::GateReason>& closed) {
  const auto* held = closed ? std::get_if<placement::GroupGate>(&*closed) : nullptr;
  const placement::TreeMember& root = tree.root();
  const bool is_short = held && held->kind == placement::GroupGate::Kind::TooFewGroups && !root.complete;
  if (!tree.joinable().empty() || root.scheduled || (closed && !is_short)) return;
  MemberCounts::CountedEntity counted{held ? std::optional(*held) : std::nullopt, {}};
  for (const placement::TreeMember& node : tree.nodes)
    if (node.group)
      counted.groups[node.group->meta.name] = {.alive = node.members.alive,
                                               .wanted = std::max(1, node.group->minimum()),
                                               .waits = !node.members.waiting.empty()};
  counts_.note(tree.key, std::move(counted));
}

void EntryGate::reconsider_tree(const client::View& view, const EntityKey& key, Time now) {
  counts_.forget(key);
  const TreeMembers tree = tree_of(view, key);
  if (is_no_entry(tree)) return leave_queue(key, now);
  for (const placement::TreeMember& node : tree.nodes)
    for (const api::BindRequest* request : node.members.broken) loop_.withdrawals.want(*request, now);
  tell_tree_scheduled(view, tree, now);
  if (!tree.any_waiting()) return leave_queue(key, now);
  const std::optional<placement::GateReason> closed = gate(view, tree, now);
  note_counts(tree, closed);
  const QueuedEntity entry = placement::queue_entry(tree);
  if (!closed) return enqueue(entry, now);
  loop_.forget_room(key, now);
  loop_.queue.gate(key, entry.priority, entry.since);
  log_gate(tree, *closed, now);
}

}  // namespace berth::scheduling
