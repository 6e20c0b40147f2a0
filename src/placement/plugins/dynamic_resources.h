// The slots of the DynamicResources plugin: the pod's claims as the prefilters found them, and the devices
// chosen for them on one node.
#pragma once

#include "placement/framework.h"

namespace berth::dra {
class AllocationRequest;
}  // namespace berth::dra

namespace berth::placement::plugins {

struct ExtendedResources;  // plugins/extended_resources.h

// In PodQuery::slots.
struct PodClaims {
  std::vector<ClaimChoice> claims;                                   // in the pod's order
  std::shared_ptr<const dra::AllocationRequest> allocation_request;  // the claims to allocate; null: none
  std::shared_ptr<ExtendedResources> extended;                       // null: none
  bool has_selector_error = false;  // on a node of a cluster of at most kNodesWithEveryErrorMax
  void clear() {
    claims.clear();
    allocation_request.reset();
    extended.reset();
    has_selector_error = false;
  }
};

// In NodeChoice::slots.
struct NodeDevices {
  std::vector<std::shared_ptr<const api::Allocation>> allocations;  // for the claims to allocate
  model::NodeAllocatablePtr node_allocatable;                       // what the devices take of the node
  std::shared_ptr<const api::ExtendedClaim> extended;               // that is made; null: none
  void clear() {
    allocations.clear();
    node_allocatable.reset();
    extended.reset();
  }
};

inline const PodClaims& claims_of(const PodQuery& query) {
  return query.slots.read<PodClaims>();
}
inline const NodeDevices& devices_of(const NodeChoice& choice) {
  return choice.slots.read<NodeDevices>();
}

}  // namespace berth::placement::plugins
