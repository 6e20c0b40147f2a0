// Questions about a cluster: what fits more, what a failure costs, what an addition brings.
//
// Pure; all answers are the scheduler's own decisions. A question is about the objects of a script at its
// start, after everything that waits was decided once. `options` as for simulate(). Source: outer surface,
// `berth simulate`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "simulate/lost_nodes.h"
#include "simulate/min_nodes.h"
#include "simulate/simulation.h"
#include "simulate/start_changes.h"

namespace berth::simulate {

// Copies and pods of copies that one answer places.
inline constexpr std::size_t kFitCopiesMax = 10'000;
inline constexpr std::size_t kFitPodsMax = 100'000;

struct FailAnswer {
  std::vector<std::string> nodes;
  std::vector<LostPod> pods;
  planning::Plan plan;      // decisions about those that wait again
  std::size_t placed = 0;   // lost pods that have a node again
  std::size_t waiting = 0;  // lost pods that have none
  std::size_t gone = 0;     // lost pods that went with their nodes
  std::size_t evicted = 0;  // others, for them
};
// All nodes go at once.
Result<FailAnswer> nodes_fail(const Script& script, const std::vector<std::string>& nodes,
                              const planning::PlanOptions& options);

struct AddAnswer {
  std::map<std::string, std::size_t> objects;  // by kind
  planning::Plan plan;                         // decisions about all that waited, and the added pods
  std::size_t waited = 0;                      // pods that waited before
  std::size_t placed = 0;                      // of these, that have a node then
  std::size_t added = 0;                       // pods that wait for a node among the added objects
  std::size_t added_placed = 0;
};
// `changes.lost_nodes` are gone before.
Result<AddAnswer> objects_come(const Script& script, const StartChanges& changes,
                               const planning::PlanOptions& options);

struct FitAnswer {
  std::size_t copies = 0;
  std::size_t pods_per_copy = 0;
  bool bounded = false;                      // the count ended at kFitCopiesMax or kFitPodsMax
  std::map<std::string, std::size_t> nodes;  // pods of the copies on each
  planning::Plan next;                       // decisions about the copy that does not fit; empty when bounded
};
// How many times the workload fits, one copy after the other, without evictions. A copy fits if each of its
// pods and groups is placed. Refuses a workload without a pod that wants a node.
Result<FitAnswer> copies_fit(const Script& script, const StartChanges& changes,
                             std::vector<planning::Document> workload, const planning::PlanOptions& options);

// One object with a member for each answer, and their sentences and tables for people.
void put_json(const FailAnswer& answer, Json& json);
void put_json(const AddAnswer& answer, Json& json);
void put_json(const FitAnswer& answer, Json& json);
void put_json(const StartAnswer& answer, Json& json);
void put_json(const MinNodesAnswer& answer, Json& json);
std::string to_table(const FailAnswer& answer);
std::string to_table(const AddAnswer& answer);
std::string to_table(const FitAnswer& answer);
std::string to_table(const StartAnswer& answer);
std::string to_table(const MinNodesAnswer& answer);

}  // namespace berth::simulate
