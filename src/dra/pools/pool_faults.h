// Why the devices of a pool are not used on a node, in words.
//
// Pure. Cost: a pass over the slices of one pool; called only when a node's devices are built, texts only for
// pools with a fault. Source: KEP-4381 pools and generations, KEP-4815 counters.
#pragma once

#include <string>
#include <string_view>

#include "dra/gates.h"
#include "dra/pools/node_devices.h"

namespace berth::dra {

// The rule of a pool that these slices break: a name declared twice, an undeclared counter, a slice that is
// too large. "declares counter set gpu-0 twice"; empty: none.
std::string contradiction_of(const NodePool& pool);

// The feature gate that must be on for the slice to exist; empty: none is missing.
std::string_view missing_gate(const api::ResourceSlice& slice, const DeviceGates& gates);

// What a node sees of the generation that it would use.
struct SliceCounts {
  std::int64_t generation = 0;
  std::int64_t newest = 0;   // of the pool anywhere
  std::size_t found = 0;     // slices of the generation
  std::size_t wanted = 0;    // by resourceSliceCount
  std::size_t left_out = 0;  // by the gate
  std::string_view gate;     // that is off
};
// "has 1 of 2 ResourceSlices of generation 2".
std::string fault_text(const SliceCounts& counts);
// "pool w1 of driver gpu.test".
std::string pool_text(const model::PoolRow& pool);

}  // namespace berth::dra
