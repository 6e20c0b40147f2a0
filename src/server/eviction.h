// The subresource pods/eviction: a delete that disruption budgets may refuse.
//
// Any pool thread. Source: policy/v1 Eviction; registry/core/pod/storage of Kubernetes 1.37.
#pragma once

#include "server/registry.h"

namespace berth::server {

// Sets the pod's condition DisruptionTarget and deletes it. A pod that does not run, or is being deleted, is
// evicted without its budget; so is a pod that is not Ready, where the budget permits it. Any other pod takes
// one of its budget's status.disruptionsAllowed, and disruptedPods lists it until the controller sees the
// deletion. Refuses (429, cause DisruptionBudget) when none is left or the controller has not seen the
// budget's generation. Refuses (500) a pod of two budgets.
// A dry run decides the same and writes nothing.
void evict_pod(Registry& registry, ObjectTarget pod, DeleteOptions options, Done done);

}  // namespace berth::server
