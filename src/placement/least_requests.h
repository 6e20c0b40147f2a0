// What every one of several pods asks for at least.
#pragma once

#include <span>

#include "model/cluster.h"

namespace berth::placement {

// The minimum over the pods, so that it fits wherever one of them fits; without resources that one of them
// does not ask for. Ascending by resource. Cost: O(requests of the pods).
model::ResourceAmounts least_requests(const model::Cluster& cluster, std::span<const api::Pod* const> pods);

}  // namespace berth::placement
