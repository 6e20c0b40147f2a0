// Whether a node has room for a pod's requests and for what its devices take.
#pragma once

#include "placement/framework.h"
#include "placement/free_resources.h"

namespace berth::placement::plugins {

// Whether the node has room for all `charges`, or devices serve them there.
bool fits(const PodQuery& query, NodeId node, const model::ResourceAmounts& charges);
// Whether other charges of the pod, by other devices, were all tried or cannot help.
enum class Tried : std::uint8_t { Everything, Some };
// The same; otherwise refuses the node, with a reason for each resource that it lacks.
bool fits_or_is_refused(const PodQuery& query, Diagnosis& diagnosis, NodeId node,
                        const model::ResourceAmounts& charges, Tried tried = Tried::Everything);

}  // namespace berth::placement::plugins
