// What happens in one storm and when: generated from a seed, written to and read from a file that a person
// can edit.
//
// Pure. A step is a JSON object {atMs, do, …}; tests/storms/README.md documents the words. The random
// numbers of steps are independent, so any step can be left out.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace berth::sim {

struct StormPlan {
  std::uint64_t seed = 1;
  int schedulers = 0;  // with a Lease when there are two; 0: one process runs everything
  int binders = 0;
  bool in_memory = false;  // every scheduler binds, and stores only bindings that wait: no binders
  bool moves = false;      // the scheduler evicts pods so that racks become whole
  int racks = 3;
  int nodes_per_rack = 3;
  int gpus_per_node = 4;
  int cpus_per_node = 16;
  std::vector<Json> steps;  // by time
};

// All faults end, and users stop.
inline constexpr Duration kStormHeals = Duration::seconds(480);
// From then on everything must be at rest.
inline constexpr Duration kStormRests = Duration::seconds(300);
// Pods that wait next to room reserved for a higher priority must be placed by then, one after the other.
inline constexpr Duration kStormRestsMax = Duration::seconds(1800);

// Plans of these seeds and of higher ones are in_memory; of the others have trees of groups.
inline constexpr std::uint64_t kInMemorySeeds = 1'000'000;
inline constexpr std::uint64_t kTreeSeeds = 2'000'000;
inline constexpr std::uint64_t kInMemoryTreeSeeds = 3'000'000;
// Of these and of higher ones with PlacementPolicies and Topologies that come, change and go, too.
inline constexpr std::uint64_t kPolicySeeds = 4'000'000;
// Of these and of higher ones with ReplicaSets whose pods are moved: every second one is in_memory.
inline constexpr std::uint64_t kMovingSeeds = 5'000'000;
// Of these and of higher ones with gangs whose members leave failed nodes, too.
inline constexpr std::uint64_t kReplacingSeeds = 6'000'000;

StormPlan make_storm_plan(std::uint64_t seed);

std::string storm_plan_text(const StormPlan& plan);
// Refuses a text that is no plan, naming `file`.
Result<StormPlan> parse_storm_plan(std::string_view text, std::string_view file);

}  // namespace berth::sim
