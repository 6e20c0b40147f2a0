// How many nodes of one type have to be added for a workload to be placed whole.
//
// Pure. Every number is tried on a cluster of its own with the scheduler's decisions, without victims. They
// are greedy: the answer is a placement that was found, and proved least only if it equals the sum of the
// requests. Cost: kNodeTriesMax plans at most.
#pragma once

#include <string>
#include <vector>

#include "simulate/start_changes.h"

namespace berth::simulate {

inline constexpr std::size_t kNodesAddedMax = 10'000;
// Numbers of nodes that are tried.
inline constexpr std::size_t kNodeTriesMax = 40;

struct NodeType {
  planning::Document node;                  // its name is the beginning of the added nodes' names
  std::vector<planning::Document> objects;  // its ResourceSlices and its CSINode
};

struct MinNodesQuestion {
  NodeType type;
  std::vector<planning::Document> workload;  // without a pod: what waits in the cluster
};

struct MinNodesAnswer {
  std::string type;                // the node's name
  std::size_t pods = 0;            // that are to be placed
  bool possible = false;           // false: none of the numbers that were tried takes the workload
  std::size_t nodes = 0;           // the least number found
  std::size_t lower_bound = 0;     // by the sums of the requests; fewer cannot do
  std::size_t most = 0;            // the highest number that would be tried
  std::vector<std::size_t> tried;  // in their order
  planning::Plan refused;          // not possible: the decisions about what waits with `most` nodes
  bool exact() const { return possible && nodes == lower_bound; }
};

// Takes the Node and what belongs to it out of the documents of a file; the rest is the workload. The error
// says what is missing.
Result<MinNodesQuestion> min_nodes_question(std::vector<planning::Document> documents);

Result<MinNodesAnswer> min_nodes(const Script& script, const StartChanges& changes,
                                 const MinNodesQuestion& question, const planning::PlanOptions& options);

}  // namespace berth::simulate
