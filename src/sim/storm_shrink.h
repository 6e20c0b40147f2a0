// Minimizes the plan of a failed storm while it still fails in the same way.
#pragma once

#include <string>

#include "sim/storm_plan.h"

namespace berth::sim {

inline constexpr int kShrinkRunsMax = 600;

struct ShrunkStorm {
  StormPlan plan;
  std::string broken;  // the first sentence of the shrunk plan; empty: the plan does not fail
  int runs = 0;
};

// "The same way" is the same sentence apart from names and numbers. Drops steps in ever smaller pieces (delta
// debugging). Cost: up to kShrinkRunsMax storms.
Result<ShrunkStorm> shrink_storm(StormPlan plan, std::vector<std::string> ignored = {});

}  // namespace berth::sim
