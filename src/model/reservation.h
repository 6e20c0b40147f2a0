// What a placed pod takes besides its requests: one value from the search to the BindRequest.
//
// Two forms with the same parts. Reservation has ids and shares the search's results; api::PodReservation has
// names, as the API carries it (Cluster::named turns the first into the second). A new thing to reserve is a
// member of both, read and written by the plugin that owns it and by the codec of BindRequest.
// Cost: a copy shares all allocations.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/types/bind_request.h"
#include "model/ids.h"

namespace berth::model {

// Null: nothing.
using NodeAllocatablePtr = std::shared_ptr<const api::NodeAllocatableClaims>;
using VolumeBindingsPtr = std::shared_ptr<const std::vector<api::VolumeBinding>>;

// Unusable: its devices failed to get ready, or missed the binding timeout (KEP-5007).
enum class ClaimState : std::uint8_t { Usable, Unusable };

// One claim of a pod, and its allocation or the one that was chosen for it.
struct ClaimChoice {
  std::string pod_claim;  // name in pod.spec.resourceClaims
  ClaimId claim;
  std::shared_ptr<const api::Allocation> allocation;  // null: not allocated yet
  ClaimState state = ClaimState::Usable;
  std::shared_ptr<const api::ExtendedClaim> extended = nullptr;  // not null: the binder creates the claim
};

struct Reservation {
  std::vector<ClaimChoice> claims;      // all allocated, in the pod's order
  NodeAllocatablePtr node_allocatable;  // what their devices take of the node
  VolumeBindingsPtr volumes;            // the claims to be bound
  api::GpuSharePtr gpu_share;           // null: it has none
  bool empty() const { return claims.empty() && !node_allocatable && !volumes && !gpu_share; }
};
using ReservationPtr = std::shared_ptr<const Reservation>;  // null: nothing

inline const Reservation& value_of(const ReservationPtr& reservation) {
  static const Reservation kNothing;
  return reservation ? *reservation : kNothing;
}

}  // namespace berth::model
