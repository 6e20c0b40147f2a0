// The largest possible cost of an expression, from its tree and the largest sizes of a device's fields.
//
// Cost: one walk. Saturates instead of overflowing. Source: KEP-4381; the sizes are those of the DRA API's
// limits.
#pragma once

#include <cstdint>

#include "cel/ast.h"

namespace berth::cel {

inline constexpr std::uint64_t kDomainSizeMax = 63;
inline constexpr std::uint64_t kAttributeIdSizeMax = 32;
inline constexpr std::uint64_t kDeviceEntriesMax = 32;
inline constexpr std::uint64_t kAttributeTextMax = 64;
inline constexpr std::uint64_t kAttributeListMax = 48;

// `root` is checked but not folded: constants cost what they cost in Kubernetes.
std::uint64_t estimate_cost(const Node& root, int slot_count);

}  // namespace berth::cel
