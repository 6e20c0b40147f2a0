// Writes of a ResourceClaim's status that several deciders make. Each bears the claim's UID; those that take
// something away stand on the version that was seen, for what was decided on another may not be lost.
#pragma once

#include <span>

#include "client/decider.h"

namespace berth::client {

// The allocation with all that hangs on it: consumers and the states of its devices.
Write clear_allocation(const api::ResourceClaim& claim);

// Leaves the allocation to these consumers alone.
Write keep_consumers(const api::ResourceClaim& claim, std::span<const api::ClaimConsumer> consumers);

}  // namespace berth::client
