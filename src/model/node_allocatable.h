// What the devices of a pod's claims take of the node they are on: from slices and allocations to what the
// pod's status says (api/types/node_allocatable.h).
//
// Pure functions of one Cluster. Cost: per device O(devices of its pool). Source: KEP-5517; kube-scheduler
// 1.37 for what counts once per claim, per pod and per container. Difference: a container that names a claim
// twice counts once, and admin access takes no capacity where Kubernetes ends with an error.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "model/cluster.h"

namespace berth::model {

// A claim of the pod with the allocation that it has or would get.
struct AllocatedClaim {
  std::string_view pod_claim;  // name in pod.spec.resourceClaims
  std::string_view name;       // of the ResourceClaim
  const api::Allocation* allocation = nullptr;
};

// Null when the devices take nothing. Claims that take nothing are left out. The error ends the attempt: a
// device that is gone beside one that takes, or an amount that cannot be told.
Result<NodeAllocatablePtr> node_allocatable(const Cluster& cluster, const api::Pod& pod,
                                            const std::vector<AllocatedClaim>& claims);

// Whether a device of the allocation is itself cpu, memory and so on: such a claim is for one pod.
bool is_mapped(const Cluster& cluster, const api::Allocation& allocation);

}  // namespace berth::model
