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

// By entry name ("claim:<pod claim>[/<request>]", or the resource of a device plugin), then by resource id.
// Sorted, so that equal states give equal text.
using ResourceStatus = std::map<std::string, std::map<std::string, DeviceHealth>>;

// Which entries of a status the agent writes: next to a kubelet those of device plugins are kubelet's.
enum class OwnEntries { Claims, All };

// For one container. A device that occurs twice under one name has its worst health. Claims that are not
// allocated, or not reserved for this pod or its group, have no entry. The claim of extended resources
// (status.extendedResourceClaimStatus) has one for each request of the container.
ResourceStatus wanted_status(const client::View& view, const api::Pod& pod, const api::Container& container,
                             const HealthSnapshot& health);
// For the claims of the pod that no container names.
ResourceStatus wanted_pod_level_status(const client::View& view, const api::Pod& pod,
                                       const HealthSnapshot& health);

// The own entries of a status' allocatedResourcesStatus.
ResourceStatus own_entries(const Json& status, OwnEntries own);
// Replaces the own entries by `wanted`; others stay. Removes an empty list.
void set_own_entries(Json& status, const ResourceStatus& wanted, OwnEntries own);

// A request of status.extendedResourceClaimStatus: devices of the pod's extended claim for one resource of a
// container.
struct ExtendedRequest {
  std::string container, resource, request;
};
std::vector<ExtendedRequest> extended_requests(const api::Pod& pod);
// The names of the pod's claim objects, the one of its extended resources too.
std::vector<std::string> claim_names(const api::Pod& pod);
// The pod's claim object of that name; null unless it is allocated, and reserved for the pod or its group.
const api::ResourceClaim* claim_in(const client::View& view, const api::Pod& pod, std::string_view claim);
// The allocation of the pod's claim object of that name; null unless it is reserved for the pod or its group.
const api::Allocation* allocation_in(const client::View& view, const api::Pod& pod, std::string_view claim);
// A result's request, without the chosen alternative.
std::string_view base_request(const api::DeviceResult& result);

// Whether one of the pod's devices is Unhealthy.
bool has_sick_device(const client::View& view, const api::Pod& pod, const HealthSnapshot& health);

}  // namespace berth::health
