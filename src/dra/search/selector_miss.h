// Which selector of a request leaves it too few devices of its class, and how near the nearest device comes.
//
// Pure, for people: the results come from the selector cache. Cost: one pass over the node's devices for each
// selector, and a compilation; called only for an explanation.
#pragma once

#include <cstddef>
#include <string>

#include "dra/search/search_context.h"

namespace berth::dra {

// Devices whose values are compared; of more the first ones.
inline constexpr std::size_t kNearDevicesMax = 256;
// Values of the nearest device that are named.
inline constexpr std::size_t kNearValuesMax = 3;

struct SelectorMiss {
  std::size_t of_class = 0;  // devices on the node
  std::size_t passed = 0;    // of these, the ones that pass the selectors before
  std::size_t refused = 0;   // of these, the ones that `selector` refuses
  std::size_t selector = 0;  // of the request, from 0; meaningless when `refused` is 0
  std::string nearest;       // "gpu-0 has productName \"A100\""; empty where unknown
};

// The first selector of the request that leaves fewer devices than it wants.
SelectorMiss selector_miss(const SearchContext& context, const CompiledSubRequest& sub);

}  // namespace berth::dra
