// How a pod comes into a claim's reservedFor, and leaves it: many pods of one claim at once must not stand in
// each other's way.
//
// One request opens a claim that nobody has: finalizer, then allocation, its time and the consumer in one
// status write on the version seen. The others give it a moment, then each adds its pod alone, with a patch
// that stands on the allocation instead of the version (client::add_consumer); nobody else's entry is in it.
// Pods leave on the version seen, as a removal that arrives late could hit a later reservation; the first
// that leaves takes along all whose rollback is decided. So n pods cost some n writes either way (README.md
// says why not one write for all who come).
// A claim of a PodGroup (KEP-5729) is reserved for the group: whoever opens it, the others find it reserved
// and write nothing. No request gives it back, as the others may rely on it: that is done when nobody of the
// group is placed any more (ClaimDeallocator, the scheduler's refusal) or the group is gone.
#pragma once

#include <optional>

#include "api/types/claim_consumer.h"
#include "binding/plugin.h"

namespace berth::binding {

// How long a request leaves the opening of a claim to the first request by name. Not longer: that one may be
// waiting for something else.
inline constexpr Duration kOpeningGrace = Duration::seconds(2);

// Whom the claim is to be reserved for: the request's pod, or its PodGroup when the claim is the group's.
api::ClaimConsumer consumer_for(const BindContext& context, const api::ClaimAllocation& wanted,
                                const api::ResourceClaim& claim);
// For one of the two: a pod of the group may have been reserved for by who did not know of the group's claim.
bool is_reserved(const BindContext& context, const api::ClaimAllocation& wanted,
                 const api::ResourceClaim& claim);

// Until when to wait for another request to open this claim; nothing when this one may reserve it now.
// Cost: O(requests of the claim) while nobody has opened it.
std::optional<Time> wait_for_opening(const BindContext& context, const api::ResourceClaim& claim);

// `claim` is not reserved for this request, and is either free or allocated as `wanted`.
client::Chain reserve(const BindContext& context, const api::ResourceClaim& claim,
                      const api::ClaimAllocation& wanted);

// Whether this chain, as reserve() makes it, gives a claim its devices.
bool allocates_claim(const client::Chain& chain);

enum class LastOneOut { KeepsAllocation, Deallocates };

// Takes the pod, and others that are rolling back, out of the claim. Nothing when there is nothing to do.
// Cost: O(requests of the claim + consumers).
std::optional<client::Chain> release(const BindContext& context, const api::ResourceClaim& claim,
                                     LastOneOut last);

}  // namespace berth::binding
