// What the nodes of a tree lack to their minima, before anything is placed.
//
// Pure. Cost: O(nodes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "placement/trees/tree_input.h"

namespace berth::placement {

struct TreeNeed {
  std::int64_t needed = 0;  // members of a group, children of a composite one
  std::int64_t asks = 0;    // members of it, and of all below it, at least
  bool ready = false;       // so many members wait, or so many children are ready
  bool has_minimum() const { return needed == 0; }
};

// As TreeInput::nodes.
std::vector<TreeNeed> needs_of(const TreeInput& input);
// Those that are ready and do not have their minimum, in the order of TreeNode::children.
std::vector<std::size_t> children_to_place(const TreeNode& node, const std::vector<TreeNeed>& needs);

}  // namespace berth::placement
