// Outcomes of a tree that is refused as a whole.
#pragma once

#include <string>

#include "placement/trees/tree_input.h"

namespace berth::placement {

// Of the root; nothing is said of its groups yet.
Refusal refuse_tree(const TreeInput& input, DecisionResult result);
// Every group has the root's words.
TreeOutcome refused_outcome(const TreeInput& input, Refusal refusal);
TreeOutcome error_outcome(const TreeInput& input, std::string error);

}  // namespace berth::placement
