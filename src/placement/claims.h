// What a decision needs to know about a claim: its consumers, and whether its allocation is usable.
//
// Source: KEP-4381 (reservedFor), KEP-5007 (binding conditions). Unlike kube-scheduler, pods with a decision
// that is not bound yet count as consumers.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "placement/cycle_state.h"
#include "placement/refusal/gate.h"

namespace berth::placement {

// Prefix of the allocator's errors.
inline constexpr std::string_view kDynamicResourcesError = "running \"DynamicResources\" filter plugin: ";

// The first claim that keeps the pod from being tried: it is missing, on its way out, or of another object.
std::optional<PodGate> claim_gate(const client::View& view, const api::Pod& pod);

// The number of other pods that use the claim or are decided to. In a claim that is reserved for the pod's
// own group only bound members count; another group counts once.
std::size_t other_consumers(const SchedulingContext& context, model::ClaimId claim, const api::Pod& pod);

// The number of reservedFor entries that exist or are decided, except the one for this pod. A group has one
// entry in its claim, however many members it has. `named`: the claim's entry in pod.spec.resourceClaims.
std::size_t other_entries(const SchedulingContext& context, model::ClaimId claim, const api::Pod& pod,
                          const api::PodClaim& named);

// Devices that the request takes at least, whichever alternative is chosen; and all requests of a claim.
std::int64_t least_devices(const api::DeviceRequest& request);
std::int64_t least_devices(const api::ResourceClaim& claim);

// Devices of the pool that `is_free` accepts; none: several claims may share one of them.
std::optional<std::int64_t> count_devices(const model::Cluster& cluster, model::PoolId pool,
                                          const std::function<bool(model::DeviceId)>& is_free);

// A device of the allocation failed to get ready, or missed the binding timeout.
bool is_unusable(const SchedulingContext& context, const api::ResourceClaim& claim);

// The pod names claims, or resources that devices may serve: those with a slash.
bool asks_for_devices(const api::Pod& pod);

}  // namespace berth::placement
