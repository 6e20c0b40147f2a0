// What a node's devices offer to some kinds of requests: the units of FGD's measure, by the exact ledger.
//
// A unit is a device, or a counter set of a pool: one physical device that partitions share. A shareable
// partition in use is one more unit. Plain data, integers only. Source: FGD ("Beware of
// Fragmentation", USENIX ATC 2023); KEP-4815 and KEP-5075 for what is free.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth::dra {

// Kinds of one measure: the first request of each claim.
inline constexpr std::size_t kUnitKindsMax = 16;
// Of one node; a node with more has no units that count.
inline constexpr std::size_t kUnitsMax = 128;

struct DeviceUnit {
  std::int64_t free = 0;     // millionths of a whole device: the mean over its counters, the least capacity
  std::uint32_t serves = 0;  // bit i: a free device of the unit serves kind i
};

struct DeviceUnits {
  std::vector<DeviceUnit> units;  // in the order of the search
  // By kind: devices that fit together, found one by one; at most as many as the kind asks for.
  std::array<std::int64_t, kUnitKindsMax> fitting{};
  std::int64_t free() const {
    std::int64_t sum = 0;
    for (const DeviceUnit& unit : units) sum += unit.free;
    return sum;
  }
};

// The same before a choice of devices and after it.
struct UnitsOfChoice {
  DeviceUnits before, after;
  bool fits = false;  // false: `after` is empty
};

// Whole devices that the units of a node stand for, and how large the kinds are there.
struct UnitSizes {
  std::int64_t wholes = 0;
  // By kind, in millionths: the smallest device or share that serves it on an unused node; 0: none.
  std::array<std::int64_t, kUnitKindsMax> kinds{};
};

}  // namespace berth::dra
