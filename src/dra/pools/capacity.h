// What a share of a device consumes of its capacities. Source: KEP-5075.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "api/types/dra.h"
#include "base/result.h"

namespace berth::dra {

using CapacityMap = std::map<std::string, Quantity>;

// One amount per capacity of the device: the request, rounded up by the capacity's policy; without a request
// the policy's default, else the whole value. Nothing when the device lacks a requested capacity or a policy
// refuses the amount. The error ends the attempt: an amount that Kubernetes' integer arithmetic cannot hold,
// or a negative request.
Result<std::optional<CapacityMap>> share_amounts(const api::Device& device, const CapacityMap& requested);

// The largest amount that the policy gives to one share; none: the policy has no bound.
std::optional<Quantity> largest_share(const api::CapacityPolicy& policy);

// Whether a device that is allocated as a whole has the requested amounts.
Result<bool> large_enough(const api::Device& device, const CapacityMap& requested);

// Whether one share of an otherwise unused device has the requested amounts.
Result<bool> share_fits_unused(const api::Device& device, const CapacityMap& requested);

}  // namespace berth::dra
