// The choice between victims of the same highest priority.
//
// Plain data; every room may include it. Whom a preemptor may have evicted does not depend on it. Source: the
// first is kube-scheduler's order of criteria.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::placement {

enum class VictimScoring : std::uint8_t {
  Reference,      // priorities, number, start (docs/preemption.md)
  LeastLostWork,  // after the highest priority: the least lost work (lost_work.h)
};

inline constexpr std::array<std::string_view, 2> kVictimScorings = {"Reference", "LeastLostWork"};

constexpr std::string_view name_of(VictimScoring scoring) {
  return kVictimScorings[static_cast<std::size_t>(scoring)];
}
// Nothing for a name that is not in the table; case-sensitive.
constexpr std::optional<VictimScoring> victim_scoring_of(std::string_view name) {
  const auto row = std::ranges::find(kVictimScorings, name);
  if (row == kVictimScorings.end()) return std::nullopt;
  return static_cast<VictimScoring>(row - kVictimScorings.begin());
}

}  // namespace berth::placement
