// A refusal for programs: lines of the decision log, `berth plan -o json`.
#pragma once

#include "base/json.h"
#include "placement/refusal/refusal.h"

namespace berth::placement {

// One row a reason: [{"plugin","reason","nodes","examples":[{"node","why"}]}]; "why" only where the filter
// says more than the reason.
Json refused_nodes_json(const FitError& nodes);

}  // namespace berth::placement
