// The policies that runs are compared by: what chooses among the nodes that may take a pod.
//
// All have the scheduler's filters, so they differ in scores alone.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "planning/plan.h"

namespace berth::simulate {

struct Policy {
  std::string_view name;
  std::string_view sentence;
  // Changes what a run decides with; `base` has the scheduler's own plugins and device scoring.
  void (*apply)(planning::PlanOptions& base, std::uint64_t seed);
};
inline constexpr std::size_t kPolicyCount = 6;
const std::array<Policy, kPolicyCount>& policies();
// Null: there is no policy of this name.
const Policy* find_policy(std::string_view name);
// "default, reference, …"
std::string policy_names();

}  // namespace berth::simulate
