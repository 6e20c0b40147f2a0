// Binder plugin for resource claims: reserves them for the pod and waits until their devices are ready.
//
// Each claim is a binding process of its own: finalizer, then allocation, allocationTimestamp and reservedFor
// in one status write on that version, then the binding conditions. Every write bears the UID and the version
// it was decided on. A claim that stands elsewhere, is deleted or full ends this placement. Source: the DRA
// plugin of kube-scheduler, PreBind, Unreserve and PostFilter; KEP-5007.
#pragma once

#include "binding/plugin.h"

namespace berth::binding {

inline constexpr std::string_view kDynamicResourcesName = "DynamicResources";
// Reason of a failure: the binding conditions were not True in time.
inline constexpr std::string_view kBindingTimeout = "BindingTimeout";
// Watches of different kinds do not keep step: what a request names may be seen this much later than the
// request.
inline constexpr Duration kInformerLagGrace = Duration::seconds(3);

std::unique_ptr<const Plugin> make_dynamic_resources();

// Makes the pod's status say what its devices take of the node (KEP-5517): right before the binding, so that
// a bound pod has it. None when it says so already.
std::optional<client::Write> tell_node_allocatable(const api::Pod& pod,
                                                   const api::NodeAllocatableClaims& wanted);

// Equal in what they take: the same devices, shares and capacities for the same requests, in any order.
bool same_devices(const api::Allocation& a, const api::Allocation& b);

}  // namespace berth::binding
