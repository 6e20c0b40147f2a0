// What happens in one storm and when: made from a seed, written to and read from a file that a person can
// edit.
//
// Pure. A step is a JSON object {atMs, do, …}; docs of the words: src/sim/README.md. Steps do not depend on
// each other's chance, so any of them can be left out.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace berth::sim {

struct StormPlan {
  std::uint64_t seed = 1;
  int schedulers = 0;  // with a Lease when there are two; 0: one process does everything
  int binders = 0;
  bool in_memory = false;  // every scheduler binds, and keeps what does not wait in memory: no binders
  int racks = 3;
  int nodes_per_rack = 3;
  int gpus_per_node = 4;
  int cpus_per_node = 16;
  std::vector<Json> steps;  // by time
};

// All trouble ends, and users stop.
inline constexpr Duration kStormHeals = Duration::seconds(480);
// From then on everything must have come to rest.
inline constexpr Duration kStormRests = Duration::seconds(300);
// Who waits beside room that may be kept for a higher priority must have it by then, one after the other.
inline constexpr Duration kStormRestsMax = Duration::seconds(1800);

// Plans of these seeds and of higher ones are in_memory.
inline constexpr std::uint64_t kInMemorySeeds = 1'000'000;

StormPlan make_storm_plan(std::uint64_t seed);

std::string storm_plan_text(const StormPlan& plan);
// Refuses what is no plan, naming `file`.
Result<StormPlan> parse_storm_plan(std::string_view text, std::string_view file);

}  // namespace berth::sim
