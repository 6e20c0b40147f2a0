// One storm: a plan carried out in a hostile world, with every write checked and the state at rest judged.
#pragma once

#include <array>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "sim/fault_class.h"
#include "sim/storm_plan.h"

namespace berth::sim {

// The state of the system when a fault struck: the steps of unfinished bind requests, and these.
inline constexpr std::array<std::string_view, 11> kStormStates = {
    "decided",     "Reserving",  "WaitingForDevices", "WaitingForGang", "Binding", "Bound",
    "RollingBack", "RolledBack", "creating",          "refused",        "nothing"};
using Coverage = std::array<std::array<std::uint64_t, kFaultClassCount>, kStormStates.size()>;

struct StormResult {
  std::vector<std::string> broken;  // sentences; empty: no violation
  bool at_rest = false;             // found at the end, not at a write
  FaultCounts faults = {};
  Coverage coverage = {};
  Duration virtual_time = {};
  std::uint64_t writes = 0;
  std::uint64_t pods = 0;  // created
  std::uint64_t bindings = 0;
  std::set<std::string> done;  // pods that run at the end, or have finished
  std::uint64_t digest = 0;    // of every object at the end: equal for equal plans
};

struct StormOptions {
  std::function<void(const std::string&)> trace = nullptr;  // called for every write and fault, for a person
  std::vector<std::string> ignored = {};                    // prefixes of sentences that do not count
};

// The plan without faults of processes: none is killed, stopped or paused, no clock jumps.
StormPlan without_process_faults(StormPlan plan);

// Refuses unknown steps. Ends early when a write breaks an invariant.
Result<StormResult> run_storm(const StormPlan& plan, const StormOptions& options = {});

}  // namespace berth::sim
