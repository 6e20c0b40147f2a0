// The subresource pods/eviction: a delete that disruption budgets may refuse.
//
// Any pool thread. Source: policy/v1 Eviction; registry/core/pod/storage of Kubernetes 1.37.
#pragma once

#include "server/registry.h"

namespace berth::server {

// Sets the pod's condition DisruptionTarget and deletes it. Pods that do not run yet or any more, and those
// that are being deleted, are evicted without their budget; so are pods that are not Ready, where the budget
// permits it. Any other pod takes one of its budget's status.disruptionsAllowed, which stands in
// disruptedPods until the controller sees the deletion. Refuses (429, cause DisruptionBudget) when none is
// left or the controller has not seen the budget's generation, and (500) a pod of two budgets. A dry run
// decides the same and writes nothing.
void evict_pod(Registry& registry, ObjectTarget pod, DeleteOptions options, Done done);

}  // namespace berth::server
