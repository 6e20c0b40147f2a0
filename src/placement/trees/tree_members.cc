#include "placement/trees/tree_members.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace berth::placement {
namespace {

using GateKind = GroupGate::Kind;

struct Child {
  const api::PodGroup* group = nullptr;
  const api::CompositePodGroup* composite = nullptr;

  const api::ObjectMeta& meta() const { return composite ? composite->meta : group->meta; }
  auto order() const { return std::tuple(meta().created, std::string_view(meta().name), group != nullptr); }
};

std::vector<Child> children_of(const client::View& view, const std::string& ns, const std::string& name) {
  std::vector<Child> children;
  for (const api::PodGroup* group : view.groups_under(ns, name)) children.push_back({group, nullptr});
  for (const api::CompositePodGroup* composite : view.composites_under(ns, name))
    children.push_back({nullptr, composite});
  std::sort(children.begin(), children.end(),
            [](const Child& a, const Child& b) { return a.order() < b.order(); });
  return children;
}

class TreeWalk {
 public:
  TreeWalk(const client::View& view, const model::Cluster& cluster, const GroupQuestions& questions,
           const EntityKey& key)
      : view_(view), cluster_(cluster), questions_(questions) {
    tree_.key = key;
  }

  TreeMembers take() {
    TreeMember& root = tree_.nodes.emplace_back();
    root.composite = view_.composite_groups.find(tree_.key.ns, tree_.key.name);
    add_children(0, tree_.key.name, 2);
    find_fault();
    std::vector<GroupMembers*> groups;
    for (TreeMember& node : tree_.nodes)
      if (node.group) groups.push_back(&node.members);
    join_groups(view_, groups);
    count();
    hold_beginning();
    return std::move(tree_);
  }

 private:
  void add_children(std::size_t at, const std::string& name, std::size_t level) {
    const std::vector<Child> children = children_of(view_, tree_.key.ns, name);
    if (children.empty()) return;
    if (level > kTreeDepthMax) return void(too_deep_ = true);
    for (const Child& child : children) {
      const std::size_t index = tree_.nodes.size();
      // Of a cycle, or above the part of a tree that is too deep: each group waits under one name.
      if (child.group && client::tree_top(view_, *child.group).name != tree_.key.name) continue;
      TreeMember& node = tree_.nodes.emplace_back();
      node.group = child.group;
      node.composite = child.composite;
      node.parent = at;
      tree_.nodes[at].children.push_back(index);
      if (child.group)
        node.members =
            members_of_one(view_, cluster_, questions_, child.group->meta.ns, child.group->meta.name);
      else
        add_children(index, child.composite->meta.name, level + 1);
    }
  }

  // A group that begins cannot join the decision at the barrier: the barrier may commit before it knows of
  // the group, and would bind its members whatever its minimum.
  void hold_beginning() {
    const std::string decision = tree_.joinable();
    if (decision.empty()) return;
    for (TreeMember& node : tree_.nodes) {
      GroupMembers& members = node.members;
      if (!node.group || !node.tried || members.waiting.empty() || members.unsettled) continue;
      if (members.at_barrier == 0 && !node.scheduled)
        members.unsettled = {UnsettledGate::Kind::OthersAtBarrier, decision};
    }
  }

  bool is_in_a_cycle() const {
    std::set<std::string_view> seen;
    const api::CompositePodGroup* at = tree_.root().composite;
    while (at && seen.insert(at->meta.name).second) {
      if (at->parent.empty() || seen.size() > kTreeAncestorsMax) return false;
      at = view_.composite_groups.find(tree_.key.ns, at->parent);
    }
    return at != nullptr;
  }

  void find_fault() {
    const api::CompositePodGroup* root = tree_.root().composite;
    if (!root)
      tree_.fault = GroupGate{GateKind::NoParent, tree_.key.name};
    else if (is_in_a_cycle())
      tree_.fault = GroupGate{GateKind::ParentCycle, tree_.key.name};
    else if (too_deep_ || !root->parent.empty())
      tree_.fault =
          GroupGate{GateKind::TreeTooDeep, tree_.key.name, static_cast<std::int32_t>(kTreeDepthMax)};
  }

  // Children before their parents.
  void count() {
    for (std::size_t i = tree_.nodes.size(); i-- > 0;) {
      TreeMember& node = tree_.nodes[i];
      if (node.group) {
        const std::int32_t minimum = std::max(1, node.group->minimum());
        node.complete = node.members.alive >= minimum;
        node.scheduled = std::max(node.members.scheduled, node.members.ever_bound) >= minimum;
        continue;
      }
      std::int32_t scheduled = 0;
      for (const std::size_t child : node.children) {
        node.complete_children += tree_.nodes[child].complete;
        scheduled += tree_.nodes[child].scheduled;
      }
      const std::int32_t minimum = node.composite ? node.composite->minimum() : 1;
      node.complete = node.complete_children >= minimum;
      node.scheduled = scheduled >= minimum;
    }
    for (TreeMember& node : tree_.nodes)
      node.tried = node.complete && (!node.parent || tree_.nodes[*node.parent].tried);
  }

  // A walk for words ends there.
  static constexpr std::size_t kTreeAncestorsMax = 64;

  const client::View& view_;
  const model::Cluster& cluster_;
  const GroupQuestions& questions_;
  TreeMembers tree_;
  bool too_deep_ = false;
};

ShortGroup short_group(const TreeMember& node) {
  if (node.composite)
    return {node.composite->meta.name, true, node.composite->minimum(), node.complete_children};
  return {node.group->meta.name, false, std::max(1, node.group->minimum()), node.members.alive};
}

// `name` and `wanted` of the group of groups, and its children that are not complete.
GroupGate too_few_groups(const TreeMembers& tree, const TreeMember& of) {
  GroupGate gate{GateKind::TooFewGroups, of.composite->meta.name, of.composite->minimum(),
                 of.complete_children};
  for (const std::size_t child : of.children)
    if (!tree.nodes[child].complete && gate.missing.size() < kShortGroupsMax)
      gate.missing.push_back(short_group(tree.nodes[child]));
  return gate;
}

// The first group with waiting members that are not tried: null if there is none, or some members are tried.
const TreeMember* all_held(const TreeMembers& tree) {
  const TreeMember* held = nullptr;
  for (const TreeMember& node : tree.nodes) {
    if (node.members.waiting.empty()) continue;
    if (node.tried) return nullptr;
    if (!held) held = &node;
  }
  return held;
}

}  // namespace

bool TreeMembers::any_waiting() const {
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const TreeMember& node) { return !node.members.waiting.empty(); });
}

const std::string& TreeMembers::joinable() const {
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [](const TreeMember& node) { return !node.members.joinable.empty(); });
  return found == nodes.end() ? nodes.front().members.joinable : found->members.joinable;
}

TreeMembers tree_members(const client::View& view, const model::Cluster& cluster,
                         const GroupQuestions& questions, const EntityKey& key) {
  return TreeWalk(view, cluster, questions, key).take();
}

std::optional<GroupGate> tree_gate(const TreeMembers& tree) {
  if (tree.fault) return tree.fault;
  if (!tree.root().complete) return too_few_groups(tree, tree.root());
  const TreeMember* held = all_held(tree);
  if (!held) return std::nullopt;
  // The highest one that is not complete, named by its parent.
  const TreeMember* above = &tree.nodes[*held->parent];
  for (const TreeMember* at = above; at->parent; at = &tree.nodes[*at->parent])
    if (!at->complete) above = &tree.nodes[*at->parent];
  return too_few_groups(tree, *above);
}

QueuedEntity queue_entry(const TreeMembers& tree) {
  if (const api::CompositePodGroup* root = tree.root().composite)
    return {tree.key, root->priority, root->meta.created};
  const api::Pod* first = nullptr;
  for (const TreeMember& node : tree.nodes)
    for (const api::Pod* pod : node.members.waiting)
      if (!first || before_in_queue(pod, first)) first = pod;
  return {tree.key, first->priority, first->meta.created};
}

TreeInput tree_input(TreeMembers tree, const std::function<AvoidSet(const api::Pod&)>& avoid_of) {
  TreeInput input;
  const std::string joins = tree.joinable();
  for (TreeMember& from : tree.nodes) {
    TreeNode& node = input.nodes.emplace_back();
    node.parent = from.parent;
    node.children = std::move(from.children);
    node.composite = from.composite;
    if (from.composite) continue;
    if (!from.tried) from.members.waiting.clear();
    node.group = group_input(*from.group, std::move(from.members), avoid_of);
    node.group.joins = joins;
    for (std::optional<std::size_t> at = from.parent; at; at = input.nodes[*at].parent)
      node.group.levels.insert(node.group.levels.end(), input.nodes[*at].topology_keys().begin(),
                               input.nodes[*at].topology_keys().end());
  }
  return input;
}

}  // namespace berth::placement
