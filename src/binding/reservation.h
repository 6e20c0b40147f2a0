// Adds pods to a claim's reservedFor and removes them, without conflicts between many pods of one claim.
//
// One request opens a free claim: finalizer, then allocation, allocationTimestamp and the consumer in one
// status write on the version seen. The others wait a moment; then each adds its own pod by a patch that
// tests the allocation instead of the version (client::add_consumer). Removals name the version, because a
// late removal could hit a later reservation; the first one removes all pods whose rollback is decided. So n
// pods cost about n writes either way.
// A claim of a PodGroup (KEP-5729) is reserved for the group: one member opens it, the others write nothing.
// No request releases it, as other members may rely on it; it is deallocated once no member is placed
// (ClaimDeallocator, the scheduler's PostFilter) or the group is gone.
#pragma once

#include <optional>

#include "api/types/claim_consumer.h"
#include "binding/plugin.h"

namespace berth::binding {

// How long a request leaves the opening of a claim to the first request by name, which may itself wait for
// something else.
inline constexpr Duration kOpeningGrace = Duration::seconds(2);

// The consumer for reservedFor: the request's pod, or its PodGroup if the claim is the group's.
api::ClaimConsumer consumer_for(const BindContext& context, const api::ClaimAllocation& wanted,
                                const api::ResourceClaim& claim);
// Whether the claim is reserved for the pod or for its group; a client that does not know group claims
// reserves for the pod.
bool is_reserved(const BindContext& context, const api::ClaimAllocation& wanted,
                 const api::ResourceClaim& claim);

// How long to wait for another request to open this claim; none if this one may reserve it now. Cost:
// O(requests of the claim) while nobody has opened it.
std::optional<Time> wait_for_opening(const BindContext& context, const api::ResourceClaim& claim);

// `claim` is not reserved for this request, and is either free or allocated as `wanted`.
client::Chain reserve(const BindContext& context, const api::ResourceClaim& claim,
                      const api::ClaimAllocation& wanted);

// Whether this chain, as reserve() makes it, gives a claim its devices.
bool allocates_claim(const client::Chain& chain);

enum class LastOneOut { KeepsAllocation, Deallocates };

// Removes the pod, and others that are rolling back, from the claim. None if there is nothing to do. Cost:
// O(requests of the claim + consumers).
std::optional<client::Chain> release(const BindContext& context, const api::ResourceClaim& claim,
                                     LastOneOut last);

}  // namespace berth::binding
