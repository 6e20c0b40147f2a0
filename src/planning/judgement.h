// Which nodes a pod fits: a verdict per node.
//
// Reads the cluster; every change is undone. Cost: one decision a node.
#pragma once

#include <span>

#include "placement/pod_cycle.h"
#include "planning/plan.h"

namespace berth::planning {

// Judges every node by itself, before the pod is placed. Sorted by name.
std::vector<NodeVerdict> judge_nodes(const placement::PodCycle& cycle,
                                     const placement::SchedulingContext& context, const api::Pod& pod,
                                     std::span<const model::NodeId> nodes,
                                     model::Ledger::Transaction& transaction);

}  // namespace berth::planning
