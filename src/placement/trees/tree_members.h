// The state of a tree of groups, from the live objects and the scheduler's assumptions: its nodes, their
// members, and which of them may be tried.
//
// A tree has one decision under way, as a group has (groups/group_members.h). A child that has too few
// members of its own is not tried, and counts for nothing in its parent. The others are tried when their
// parent has its minimum without it. Source: KEP-6012, and GangScheduling.PreEnqueue of kube-scheduler 1.37.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "placement/decision_core.h"
#include "placement/groups/group_members.h"
#include "placement/trees/tree_input.h"

namespace berth::placement {

// A PodGroup, or a CompositePodGroup. Both null: the root that the others name does not exist.
struct TreeMember {
  const api::PodGroup* group = nullptr;
  const api::CompositePodGroup* composite = nullptr;
  std::optional<std::size_t> parent;
  std::vector<std::size_t> children;  // by creation, then name
  GroupMembers members;               // of a PodGroup
  std::int32_t complete_children = 0;
  bool complete = false;   // it has enough members, or complete children
  bool tried = false;      // it is complete, and so are those above it
  bool scheduled = false;  // so many of them are bound or committed, or once were
};

struct TreeMembers {
  EntityKey key;
  std::vector<TreeMember> nodes;   // the root first, each parent before its children
  std::optional<GroupGate> fault;  // of its shape

  const TreeMember& root() const { return nodes.front(); }
  bool any_waiting() const;
  const std::string& joinable() const;  // the decision that waits at the barrier; empty: none
};

// Cost: O(members).
TreeMembers tree_members(const client::View& view, const model::Cluster& cluster,
                         const GroupQuestions& questions, const EntityKey& key);
// Why the tree cannot be tried now; none when it can. Cost: O(groups).
std::optional<GroupGate> tree_gate(const TreeMembers& tree);
QueuedEntity queue_entry(const TreeMembers& tree);
// `avoid_of` is called for each waiting member.
TreeInput tree_input(TreeMembers tree, const std::function<AvoidSet(const api::Pod&)>& avoid_of);

}  // namespace berth::placement
