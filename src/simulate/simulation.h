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

// `options`: its time, verdicts and objects are ignored. Refuses objects that no plan can read.
Result<RunResult> simulate(const Script& script, const planning::PlanOptions& options);

}  // namespace berth::simulate
