// Node resources that the devices of a pod's claims consume: from slices and allocations to the entries of
// the pod's status (api/types/node_allocatable.h).
//
// Pure functions of one Cluster. Cost: per device O(devices of its pool). Source: KEP-5517; kube-scheduler
// 1.37 for what counts once per claim, per pod and per container. Difference: a container that names a claim
// twice counts once, and admin access consumes no capacity where Kubernetes returns an error.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "model/cluster.h"

namespace berth::model {

// A claim of the pod with its current or proposed allocation.
struct AllocatedClaim {
  std::string_view pod_claim;  // name in pod.spec.resourceClaims
  std::string_view name;       // of the ResourceClaim
  const api::Allocation* allocation = nullptr;
};

// Null when the devices consume nothing. Claims that consume nothing are left out. An error ends the attempt:
// a device is gone while another one consumes, or an amount cannot be computed.
Result<NodeAllocatablePtr> node_allocatable(const Cluster& cluster, const api::Pod& pod,
                                            const std::vector<AllocatedClaim>& claims);

// Whether a device of the allocation is itself cpu, memory and so on: only one pod may use such a claim.
bool is_mapped(const Cluster& cluster, const api::Allocation& allocation);

}  // namespace berth::model
