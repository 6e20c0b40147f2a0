// Many runs: policies x seeds, on several threads, with the same results for any number of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "simulate/policies.h"
#include "simulate/simulation.h"

namespace berth::simulate {

// Runs of one call.
inline constexpr std::size_t kRunsMax = 100'000;

struct Run {
  const Policy* policy = nullptr;
  std::uint64_t seed = 1;
  RunResult result = {};
};

// Thread-safe; the same seed gives the same script.
using MakeScript = std::function<Result<Script>(std::uint64_t seed)>;

struct RunPlan {
  std::vector<const Policy*> policies;
  std::vector<std::uint64_t> seeds;
  std::size_t threads = 1;
  planning::PlanOptions options = {};
};

// By policy, then by seed, in the order of the plan. The error of the first run in this order that has one.
Result<std::vector<Run>> simulate_all(const RunPlan& plan, const MakeScript& make_script);

// One document in the form of the outer surface.
Json to_json(const std::vector<Run>& runs);
// For people: one line for each run, then the means of each policy.
std::string to_table(const std::vector<Run>& runs);

}  // namespace berth::simulate
