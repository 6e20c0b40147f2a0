// The subresource pods/binding: the only way a pod gets its node.
//
// Pure, any thread. Source: core/v1 Binding; k8s.io/kubernetes registry/core/pod (refusals observed).
#pragma once

#include "base/time.h"
#include "server/registry.h"

namespace berth::server {

// What `binding` changes in the pod: node, annotations and the condition PodScheduled. Refuses a binding of
// another pod and one without a node; the change refuses a pod that is bound, gated or being deleted.
ApiResult<Registry::Change> binding_change(const ObjectTarget& pod, const Json& binding, Time now);

}  // namespace berth::server
