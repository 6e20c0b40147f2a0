// Bounds on the values of one evaluation. The cost limit stops long work; these stop a single large step.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::cel {

// Kubernetes' limit for one evaluation of a device selector.
inline constexpr std::uint64_t kSelectorCostMax = 1000000;
// The cost of making a list, a map or a struct, as CEL in Kubernetes counts it.
inline constexpr std::uint64_t kListCost = 10, kMapCost = 30, kMessageCost = 40;
inline constexpr std::size_t kTextBytesMax = 8 * 1024 * 1024;
inline constexpr std::size_t kItemsMax = 2 * 1024 * 1024;
inline constexpr std::size_t kRangeMax = 1000000;

}  // namespace berth::cel
