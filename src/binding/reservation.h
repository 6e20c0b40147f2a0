// How a pod comes into a claim's reservedFor, and leaves it: many pods of one claim at once must not stand in
// each other's way.
//
// One request opens a claim that nobody has: finalizer, then allocation, its time and the consumer in one
// status write on the version seen. The others give it a moment, then each adds its pod alone, with a patch
// that stands on the allocation instead of the version (client::add_consumer); nobody else's entry is in it.
// Pods leave on the version seen, as a removal that arrives late could hit a later reservation; the first
// that leaves takes along all whose rollback is decided. So n pods cost some n writes either way (README.md
// says why not one write for all who come).
#pragma once

#include <optional>

#include "binding/plugin.h"

namespace berth::binding {

// How long a request leaves the opening of a claim to the first request by name. Not longer: that one may be
// waiting for something else.
inline constexpr Duration kOpeningGrace = Duration::seconds(2);

// Until when to wait for another request to open this claim; nothing when this one may reserve it now.
// Cost: O(requests of the claim) while nobody has opened it.
std::optional<Time> wait_for_opening(const BindContext& context, const api::ResourceClaim& claim);

// `claim` is not reserved for the pod, and is either free or allocated as `wanted`.
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
