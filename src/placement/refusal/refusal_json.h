// A refusal for programs: lines of the decision log, `berth plan -o json`.
#pragma once

#include "base/json.h"
#include "placement/refusal/refusal.h"

namespace berth::placement {

// One row a reason: [{"plugin","id","reason","nodes","examples":[{"node","why"}]}]: Reason::id, Kubernetes'
// text; "why" only where the filter says more. A reason that holds for every node has no examples.
Json refused_nodes_json(const Refusal& pod);

}  // namespace berth::placement
