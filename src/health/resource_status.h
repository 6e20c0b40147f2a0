// The lists of device health in a pod's status: the wanted and the current ones.
//
// Pure. Source: core/v1 ResourceStatus; resourceID is the documented "<driver>/<pool>/<device>".
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "client/view.h"
#include "health/health_cache.h"

namespace berth::health {

// By entry name ("claim:<pod claim>[/<request>]"), then by resource id. Sorted, so that equal states give
// equal text.
using ResourceStatus = std::map<std::string, std::map<std::string, DeviceHealth>>;

// For one container. A device that occurs twice under one name has its worst health. Claims that are not
// allocated, or not reserved for this pod or its group, have no entry.
ResourceStatus wanted_status(const client::View& view, const api::Pod& pod, const api::Container& container,
                             const HealthSnapshot& health);
// For the claims of the pod that no container names.
ResourceStatus wanted_pod_level_status(const client::View& view, const api::Pod& pod,
                                       const HealthSnapshot& health);

// The claim entries of a status' allocatedResourcesStatus; others (of device plugins) are left out.
ResourceStatus claim_entries(const Json& status);
// Replaces the claim entries by `wanted`; others stay. Removes an empty list.
void set_claim_entries(Json& status, const ResourceStatus& wanted);

// Whether one of the pod's devices is Unhealthy.
bool has_sick_device(const client::View& view, const api::Pod& pod, const HealthSnapshot& health);

}  // namespace berth::health
