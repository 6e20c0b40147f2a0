// One run of a script in virtual time: the scheduler's own decisions, without an API server.
//
// Pure. Decisions are planning::Planner's, pod by pod and group by group in the order of the scheduling
// queue; a refused one is tried again when something ends, fails or returns. Pods start when they are placed.
// Events of one instant happen in this order: ends, repairs, failures, arrivals. Cost: per decision that of
// the scheduler. Source: outer surface, `berth simulate`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/indexer.h"
#include "placement/entity.h"
#include "planning/plan.h"
#include "simulate/script.h"

namespace berth::simulate {

// Of the GPUs of the cluster (nvidia.com/gpu), in percent.
struct UsePoint {
  double arrived = 0;  // GPU demand of all that has arrived
  double allocated = 0;
  double fragmentation = 0;  // free, but of no use: FGD's measure on the whole workload of the script
};

struct RunResult {
  double allocated_gpu_percent = 0;          // after the last arrival
  double fragmentation_percent = 0;          // the same
  std::int64_t placed = 0;                   // pods that started at least once
  std::int64_t refused = 0;                  // the others
  Duration wait_p50, wait_p99;               // from arrival to the first start, of those that started
  std::int64_t evictions = 0;                // pods that were preempted, or whose node failed
  std::int64_t lost_chip_seconds = 0;        // GPU seconds that evicted pods had run, rounded down
  std::int64_t gangs = 0;                    // groups that started, where racks are known
  double racks_mean = 0, racks_minimum = 0;  // that a gang spans, and the least that could hold it
  std::string digest;                        // of every start, end and eviction with its time and node
  std::vector<UsePoint> curve;               // at every 5 % of arrived demand
};

// A start question: decisions that it makes, and pods that its answer names.
inline constexpr std::size_t kStartQuestionDecisionsMax = 1'000'000;
inline constexpr std::size_t kEndingsNamedMax = 4;

struct EndedPod {
  client::NamedKey key;
  Duration at;
  std::string node;
};

// Never: it would fit nowhere if all pods ended. Unknown: pods on its nodes have no end.
enum class StartResult : std::uint8_t { Starts, Never, Unknown, OutOfBudget };

struct StartAnswer {
  placement::EntityKey key;
  Duration arrives;  // 0: it waits from the start
  StartResult result = StartResult::Never;
  Duration at = {};                            // Starts
  std::vector<std::string> nodes = {};         // Starts: its own; Unknown: those it would have
  std::size_t ended = 0;                       // Starts: pods that end before
  std::vector<EndedPod> after = {};            // of these, on its nodes if any are there, the latest first
  std::size_t endless = 0, on_nodes = 0;       // Unknown: pods on the nodes without an end, and all there
  std::vector<std::string> endless_pods = {};  // the first kEndingsNamedMax
  planning::Plan plan = {};                    // Never: why
};

// When the pod or group starts, counted from the start of the run. `name`: "ns/name" or "name" of what waits
// at the start or arrives, or of a member. Pods of the start end, too: after their expected durations from
// when they started. Refuses a name that nothing or several things have.
Result<StartAnswer> expected_start(const Script& script, const std::string& name,
                                   const planning::PlanOptions& options);

// `options`: its time, verdicts and objects are ignored. Refuses objects that no plan can read.
Result<RunResult> simulate(const Script& script, const planning::PlanOptions& options);

}  // namespace berth::simulate
