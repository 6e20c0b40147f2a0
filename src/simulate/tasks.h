// Nodes and tasks in the form of the public GPU traces, and the scripts of runs that draw from them.
//
// Source: the Alibaba GPU trace of 2023 (clusterdata/cluster-trace-gpu-v2023, "openb"), whose statistics
// openb_statistics() has; the draw is that of the FGD paper (USENIX ATC 2023).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "simulate/script.h"

namespace berth::simulate {

// The label that names the model of a node's GPUs.
inline constexpr std::string_view kModelLabel = "nvidia.com/gpu.product";

struct TraceNode {
  std::string name;
  NodeShape shape;
};

// What tasks are drawn from. A shape's `values` are models of GPUs.
struct Trace {
  std::vector<TraceNode> nodes;
  std::vector<PodShape> tasks;
  std::int64_t gpus() const;  // of all nodes
};

enum class Gangs : std::uint8_t {
  None,   // every task is a pod
  Drawn,  // 40 % of the arrivals are groups of 2 to 128 equal pods
};

// Of one draw: GPU demand as a multiple of all GPUs.
inline constexpr double kDrawLoadMax = 100;

struct Draw {
  double load = 1.0;  // GPU demand of the tasks, as a part of all GPUs
  std::uint64_t seed = 1;
  Duration every = Duration::seconds(1);  // between arrivals
  std::optional<Duration> runs = {};      // none: nothing leaves
  Gangs gangs = Gangs::None;
  GangTopology topology = {};
};

void add_nodes(const Trace& trace, Script& script);
// Draws tasks with replacement until their GPU demand is `load` x all GPUs of the trace; the one that would
// exceed it is left out. Refuses a trace whose tasks need no GPUs.
Status add_drawn_arrivals(const Trace& trace, const Draw& draw, Script& script);

// The text of a node list and of a pod list: CSV with a header, columns by name. `file` is for errors, which
// name file, line and column.
Result<std::vector<TraceNode>> read_trace_nodes(std::string_view csv, const std::string& file);
Result<std::vector<PodShape>> read_trace_tasks(std::string_view csv, const std::string& file);

// A trace with the statistics of the published one: its node shapes, and its tasks by their most frequent
// shapes. `constrained_percent`: of the tasks with GPUs, those that name models, as in the published
// variants.
Trace openb_statistics(std::int64_t constrained_percent);

}  // namespace berth::simulate
