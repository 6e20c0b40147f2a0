// Writes of a ResourceClaim, most of them of its status. Each bears the claim's UID.
//
// What takes something away stands on the version that was seen: a consumer that came meanwhile is not lost,
// and a write that arrives late (its answer was given up) finds another version and does nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "client/decider.h"

namespace berth::client {

// The allocation with all that hangs on it: consumers and the states of its devices.
Write clear_allocation(const api::ResourceClaim& claim);

// Leaves the allocation to these consumers alone.
Write keep_consumers(const api::ResourceClaim& claim, std::span<const api::ClaimConsumer> consumers);

// One more consumer, whatever other consumers come and go meanwhile: many add themselves to one claim without
// a conflict. Made only while the allocation is exactly the one seen; the server refuses it (422) when that
// is another or gone, when the claim is being deleted or full, and for a consumer that is in the list. The
// claim that was seen is allocated and has a consumer, for JSON patch appends to lists only. Cost: decodes
// the claim.
Write add_consumer(const api::ResourceClaim& claim, const api::ClaimConsumer& consumer);

// On an unallocated claim: what was given up last before it had allocated the claim, a decision or a term.
inline constexpr std::string_view kGivenUpAnnotation = "scheduling.berth.dev/given-up";

// Gives the claim another version, with `given_up`: an allocation that was sent before lands no more.
Write seal_claim(const api::ResourceClaim& claim, const std::string& given_up);

// On a claim that was reserved for a pod before it was decided about: the latest decision that stands on
// that.
inline constexpr std::string_view kKeptForAnnotation = "scheduling.berth.dev/kept-for";

// Gives the claim another version: a deallocation that was sent before, while it looked idle, lands no more.
Write renew_reservation(const api::ResourceClaim& claim, const std::string& decision);

}  // namespace berth::client
