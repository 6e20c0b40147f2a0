// Binder plugin for resource claims: reserves them for the pod and waits until their devices are ready.
//
// Steps of each claim: finalizer, then allocation, allocationTimestamp and reservedFor in one status write
// on that version, then the binding conditions. Every write names the UID and the version that it was
// decided on, except additions to a claim in use (reservation.h). A claim that is allocated differently,
// deleted or full fails the placement. Source: the DRA plugin of kube-scheduler, PreBind, Unreserve and
// PostFilter; KEP-5007.
#pragma once

#include "binding/plugin.h"

namespace berth::binding {

inline constexpr std::string_view kDynamicResourcesName = "DynamicResources";

std::unique_ptr<const Plugin> make_dynamic_resources();

// True for the same devices, shares and capacities for the same requests, in any order.
bool same_devices(const api::Allocation& a, const api::Allocation& b);

}  // namespace berth::binding
