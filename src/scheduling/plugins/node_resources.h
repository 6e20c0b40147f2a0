// Whether a node has room: for what a pod asks, and for what its devices take with it.
#pragma once

#include "scheduling/framework.h"
#include "scheduling/free_resources.h"

namespace berth::scheduling::plugins {

// Whether the node has room for all of this, or devices serve it there.
bool fits(const CycleState& state, NodeId node, const model::ResourceAmounts& charges);
// The same. If not it is refused, with a reason for each resource of which it has too little.
bool fits_or_is_refused(CycleState& state, NodeId node, const model::ResourceAmounts& charges);

}  // namespace berth::scheduling::plugins
