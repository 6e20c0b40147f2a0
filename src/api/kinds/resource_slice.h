// ResourceSlice: a driver's offer. Source: dra types of resource.k8s.io/v1; strategy of resourceslices.
#pragma once

#include "api/kind_rules.h"

namespace berth::api {

KindRules resource_slice_rules();

// The amounts that one consumer may request of a capacity (requestPolicy). `path` names the capacity.
// Fractions count as the next whole unit unless gate DRAFractionalCapacityRange is on.
FieldErrors check_request_policy(const std::string& path, const Json& capacity, const Gates& gates);

}  // namespace berth::api
