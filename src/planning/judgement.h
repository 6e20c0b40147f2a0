// Why a pod fits no node, or which nodes it fits: verdicts per node, and the proof of a "no".
//
// Reads the cluster; every change is undone. Cost: one decision a node; a proof calls the allocator for at
// most kNodesProvedMax nodes.
#pragma once

#include <span>

#include "placement/pod_cycle.h"
#include "planning/plan.h"

namespace berth::planning {

// Nodes, by name, whose devices are searched for the smallest blocking set.
inline constexpr std::size_t kNodesProvedMax = 64;

// Judges every node by itself, before the pod is placed. Sorted by name.
std::vector<NodeVerdict> judge_nodes(const placement::PodCycle& cycle,
                                     const placement::SchedulingContext& context, const api::Pod& pod,
                                     std::span<const model::NodeId> nodes);

// For a refused pod: `attempt` after it ended, its FitError, all nodes by name.
std::optional<Proof> prove(const placement::PodCycle& cycle, placement::CycleState& state,
                           const placement::FitError& fit_error, std::span<const model::NodeId> nodes);

}  // namespace berth::planning
