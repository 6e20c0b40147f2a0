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

std::unique_ptr<const Plugin> make_dynamic_resources();

// Equal in what they take: the same devices, shares and capacities for the same requests, in any order.
bool same_devices(const api::Allocation& a, const api::Allocation& b);

}  // namespace berth::binding
