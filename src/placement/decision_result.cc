#include "placement/decision_result.h"

#include <array>

namespace berth::placement {
namespace {

constexpr std::array<std::string_view, kDecisionResultCount> kResults = {"Placed", "Unschedulable", "Error",
                                                                         "Undone"};

}  // namespace

std::string_view name_of(DecisionResult result) {
  return kResults[static_cast<std::size_t>(result)];
}

}  // namespace berth::placement
