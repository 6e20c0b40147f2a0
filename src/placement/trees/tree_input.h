// A tree of groups to place, and what became of it.
//
// Values with pointers into the view; they live as long as the decision. Source: KEP-6012.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/group_tree.h"
#include "placement/groups/group_cycle.h"

namespace berth::placement {

// Composite groups above a PodGroup, and the PodGroup.
inline constexpr std::size_t kTreeDepthMax = client::kTreeLevelsMax;

// A PodGroup, if `composite` is null; else a CompositePodGroup.
struct TreeNode {
  const api::CompositePodGroup* composite = nullptr;
  GroupInput group;   // of a PodGroup; no member waits where it may not be tried
  GroupWishPtr wish;  // of a composite group; null: no policy names it
  std::optional<std::size_t> parent;
  std::vector<std::size_t> children;  // by creation, then name

  bool is_group() const { return composite == nullptr; }
  const api::ObjectMeta& meta() const { return composite ? composite->meta : group.group->meta; }
  const std::vector<std::string>& topology_keys() const {
    return composite ? composite->topology_keys : group.group->topology_keys;
  }
  const GroupWish* own_wish() const { return composite ? wish.get() : group.wish.get(); }
  std::int32_t priority() const { return composite ? composite->priority : group.group->priority; }
  // Members of a PodGroup, children of a composite one.
  std::int32_t minimum() const { return composite ? composite->minimum() : group.group->minimum(); }
};

struct TreeInput {
  std::vector<TreeNode> nodes;  // the root first, each parent before its children
};

struct TreeNodeOutcome {
  bool placed = false;                 // it has its minimum, with what had a place before
  std::string placement;               // path of the chosen domain; empty: no domain was chosen
  std::vector<MemberOutcome> members;  // of a PodGroup, as GroupInput::waiting
  std::shared_ptr<Refusal> refusal;    // null: nothing of it is left to place
  std::optional<WishResult> wish;      // of a placed node with a wish
};

struct TreeOutcome {
  GroupOutcome::Kind kind = GroupOutcome::Kind::Unschedulable;  // Placed: some member has a place
  std::vector<TreeNodeOutcome> nodes;                           // as TreeInput::nodes
  std::shared_ptr<Refusal> refusal;                             // of the root; null: all members are placed
  // Of a refused tree, where evictions make room; else null. Its members are those of all nodes.
  std::shared_ptr<GroupPreemptionPlan> preemption = nullptr;
};

// The rule that the tree violates, in Kubernetes' words; empty: none.
std::string tree_error(const TreeInput& input);
// What a search for victims reads of a group: all members that wait, in the order of the nodes, and the
// decision that they join. `group` gets the root's priority and preemption policy; it outlives the result.
GroupInput as_one_group(const TreeInput& input, api::PodGroup& group);

}  // namespace berth::placement
