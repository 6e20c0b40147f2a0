// A Scenario (simulate.berth.dev/v1alpha1): what a simulation starts from, what arrives, and what fails.
//
// Strict: unknown fields are refused, and every error names file, line and field path. Pure but for reading
// the file. Source: docs/simulate.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/gates.h"
#include "simulate/tasks.h"

namespace berth::cli {

inline constexpr std::string_view kScenarioVersion = "simulate.berth.dev/v1alpha1";
inline constexpr std::string_view kScenarioKind = "Scenario";
inline constexpr std::size_t kScenarioBytesMax = std::size_t{64} << 20;
// Pods of the arrivals that one scenario lists.
inline constexpr std::int64_t kScenarioPodsMax = 1'000'000;

struct Scenario {
  simulate::Trace trace;                   // its nodes, and the tasks of its generator
  std::optional<simulate::Draw> draw;      // none: it has no generator
  simulate::Script script;                 // the rest; the generator's arrivals are added for each seed
  std::vector<std::string> warnings = {};  // objects that an API server would refuse
};

// `objects`: of other files; they exist from the start too.
Result<Scenario> read_scenario(const std::string& file, const api::Gates& gates,
                               std::vector<planning::Document> objects);
// `seed`: of the generator.
Result<simulate::Script> script_of(const Scenario& scenario, std::uint64_t seed);

}  // namespace berth::cli
