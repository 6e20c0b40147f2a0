// Writes a solution into the claims.
//
// A free function of the search's solution. `random` gives the share ids. Cost: the allocations' own objects.
// Source: resource.k8s.io/v1 AllocationResult; KEP-5963 for the snapshot.
#pragma once

#include "dra/search/search.h"

namespace berth::dra {

Allocations make_allocations(const CompiledAllocationRequest& compiled, const Search& search,
                             const DeviceGates& gates, std::string_view node, Random& random);

}  // namespace berth::dra
