// How a decision ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth::placement {

enum class DecisionResult : std::uint8_t { Placed, Unschedulable, Error, Undone };
inline constexpr std::size_t kDecisionResultCount = 4;

std::string_view name_of(DecisionResult result);

}  // namespace berth::placement
