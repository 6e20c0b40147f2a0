// The subresource pods/binding: the only way to set a pod's node.
//
// Pure, any thread. Source: core/v1 Binding; k8s.io/kubernetes registry/core/pod (refusals observed).
#pragma once

#include "base/time.h"
#include "server/registry.h"

namespace berth::server {

// The change of `binding` to the pod: node, annotations, labels with those of the node's topology
// (`node_labels`), and the condition PodScheduled. Refuses a binding of another pod and one without a node;
// the change refuses a pod that is bound, gated or being deleted.
ApiResult<Registry::Change> binding_change(const ObjectTarget& pod, const Json& binding,
                                           const Json& node_labels, Time now);

}  // namespace berth::server
