// Writes of a ResourceClaim, most of them of its status. Each names the claim's UID.
//
// A write that removes something is conditional on the version that was seen. So a consumer that another
// writer adds is not lost, and a write that arrives after its answer was given up is refused.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "client/decider.h"

namespace berth::client {

// Removes the allocation with its consumers and the states of its devices.
Write clear_allocation(const api::ResourceClaim& claim);

// Removes all consumers but these.
Write keep_consumers(const api::ResourceClaim& claim, std::span<const api::ClaimConsumer> consumers);

// Adds a consumer, whatever other consumers are added and removed at the same time: many writers add to one
// claim without a conflict. Applies only while the allocation is exactly the one seen. The server refuses it
// (422) if the allocation differs or is gone, or if the claim is being deleted or full. It also refuses a
// consumer that is in the list. The claim that was seen is allocated and has a consumer, for JSON patch
// appends to lists only. Cost: decodes the claim.
Write add_consumer(const api::ResourceClaim& claim, const api::ClaimConsumer& consumer);

// On an unallocated claim or a free volume: the latest decision or term that was given up before it had got
// the object.
inline constexpr std::string_view kGivenUpAnnotation = "scheduling.berth.dev/given-up";

// Gives the object another version and notes `given_up`: what was sent before on its version is refused.
Write seal_object(const api::ObjectKey& key, const api::ObjectMeta& seen, const std::string& given_up);
// The same for an allocation of the claim.
Write seal_claim(const api::ResourceClaim& claim, const std::string& given_up);

// On a claim that was reserved for a pod before a decision about that pod: the latest decision that relies on
// the reservation.
inline constexpr std::string_view kKeptForAnnotation = "scheduling.berth.dev/kept-for";

// Gives the claim another version: a deallocation that was sent while the claim looked idle is refused.
Write renew_reservation(const api::ResourceClaim& claim, const std::string& decision);

}  // namespace berth::client
