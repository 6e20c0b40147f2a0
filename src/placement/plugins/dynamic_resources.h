// The slots of the DynamicResources plugin: the pod's claims as the prefilters found them, and the devices
// chosen for them on one node.
#pragma once

#include "placement/framework.h"

namespace berth::dra {
class AllocationRequest;
}  // namespace berth::dra

namespace berth::placement::plugins {

struct ExtendedResources;  // plugins/extended_resources.h

// In CycleState::slots.
struct PodClaims {
  std::vector<ClaimChoice> claims;                                   // in the pod's order
  std::shared_ptr<const dra::AllocationRequest> allocation_request;  // the claims to allocate; null: none
  std::shared_ptr<ExtendedResources> extended;                       // null: none
  void clear() {
    claims.clear();
    allocation_request.reset();
    extended.reset();
  }
};

// In CycleState::node_slots: for the node that was judged last.
struct NodeDevices {
  std::vector<std::shared_ptr<const api::Allocation>> allocations;  // for the claims to allocate
  model::NodeAllocatablePtr node_allocatable;                       // what the devices take of the node
  void clear() {
    allocations.clear();
    node_allocatable.reset();
  }
};

inline const PodClaims& claims_of(const CycleState& state) {
  return state.slots.read<PodClaims>();
}
inline const NodeDevices& devices_of(const CycleState& state) {
  return state.node_slots.read<NodeDevices>();
}

}  // namespace berth::placement::plugins
