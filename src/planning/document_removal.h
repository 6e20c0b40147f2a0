// Takes objects out of a plan's input as a cluster would lose them: with everything that goes with them.
//
// Pure. Source: Kubernetes' garbage collector (owner references), pod GC (pods of a node that is gone), the
// namespace controller, the claim controller (consumers of claims).
#pragma once

#include <functional>
#include <vector>

#include "planning/plan.h"

namespace berth::planning {

// With the objects: those that they own, what is in a removed namespace, the pods and slices of a removed
// node. A claim whose last consumer goes gives its devices back. Cost: O(objects · depth of ownership).
void remove_objects(std::vector<Document>& documents, const std::function<bool(const Document&)>& removed);

}  // namespace berth::planning
