// The size of each device of a pool: the fraction of its counter sets that it draws. Definition:
// docs/devices.md, "Which of several".
//
// Owner: the pool, from the first comparison of allocations on. Cost: O(draws of the pool's devices), once
// per version of its slices. Source: FGD (fragmentation gradient descent), with a pool's own devices as the
// expected mix of requests.
#pragma once

#include <cstdint>
#include <vector>

#include "dra/pools/node_devices.h"

namespace berth::dra {

// In millionths of a whole counter set; a device that draws on none counts as a whole.
using Millionths = std::int64_t;
inline constexpr Millionths kWhole = 1'000'000;

// The fraction `part` of `whole`, rounded down; 0 to kWhole.
Millionths part_of(Quantity part, Quantity whole);

// Sizes of all devices of a pool, and which of them draw on each counter set. Depends on the slices alone.
struct PoolSizes {
  explicit PoolSizes(const NodePool& pool);
  struct Member {
    std::uint32_t slice = 0, device = 0, index = 0;
  };
  struct CounterRange {
    std::uint32_t first = 0, count = 0;  // of NodePool::declared
  };
  std::vector<std::uint32_t> first;          // by slice: the index of its first device
  std::vector<Millionths> sizes;             // by index
  std::vector<std::vector<Member>> members;  // by counter set
  std::vector<CounterRange> counters;        // by counter set
};

}  // namespace berth::dra
