// Bounds on what one evaluation may build. The cost limit stops long work; these stop work that is big at
// once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::cel {

// As Kubernetes limits one evaluation of a device selector.
inline constexpr std::uint64_t kSelectorCostMax = 1000000;
// What making one of them costs, as CEL in Kubernetes counts it.
inline constexpr std::uint64_t kListCost = 10, kMapCost = 30, kMessageCost = 40;
inline constexpr std::size_t kTextBytesMax = 8 * 1024 * 1024;
inline constexpr std::size_t kItemsMax = 2 * 1024 * 1024;
inline constexpr std::size_t kRangeMax = 1000000;

}  // namespace berth::cel
