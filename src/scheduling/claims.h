// What a decision needs to know of a claim's life: who uses it, and whether its allocation is still good.
//
// Source: KEP-4381 (reservedFor), KEP-5007 (binding conditions). Beyond kube-scheduler: consumers on their
// way count.
#pragma once

#include <string_view>

#include "scheduling/cycle_state.h"

namespace berth::scheduling {

// Before an error of the allocator.
inline constexpr std::string_view kDynamicResourcesError = "running \"DynamicResources\" filter plugin: ";

// Pods that use the claim or are about to, beside this one: of a claim that is reserved for the pod's group,
// the members that are bound. What is reserved for another group counts once.
std::size_t other_consumers(const SchedulingContext& context, model::ClaimId claim, const api::Pod& pod);

// Entries that reservedFor has or is about to have, beside the one for this pod. A group has one entry in its
// claim, however many members. `named`: the pod's own entry for the claim.
std::size_t other_entries(const SchedulingContext& context, model::ClaimId claim, const api::Pod& pod,
                          const api::PodClaim& named);

// A device of the allocation failed to get ready, or did not in time.
bool is_unusable(const SchedulingContext& context, const api::ResourceClaim& claim);

// It names claims, or resources that devices may serve: those with a slash.
bool asks_for_devices(const api::Pod& pod);

}  // namespace berth::scheduling
