// The scheduler's DecisionCore over a described cluster: plans, remedies and score tables decide with it.
#pragma once

#include "placement/decision_core.h"
#include "planning/offline_cluster.h"
#include "planning/plan.h"

namespace berth::planning {

// Nodes that are judged for a proof.
struct ProofBounds {
  std::size_t group_nodes_max = placement::kGroupProofNodesMax;
  std::size_t pod_nodes_max = 0;  // 0: refused pods get no proof
};

struct OfflineCore {
  // All outlive it.
  OfflineCore(OfflineCluster& offline, const PlanOptions& options, dra::SelectorEvaluator& selectors,
              ProofBounds proofs = {})
      : core(offline.cluster(), selectors,
             {.gates = options.device_gates,
              .scoring = options.device_scoring,
              .placements = placement::placements_of(*options.gates),
              .plugins = options.plugins,
              .proof_nodes_max = proofs.group_nodes_max,
              .pod_proof_nodes_max = proofs.pod_nodes_max,
              .profiles = options.profiles}),
        context{.view = offline.view(),
                .cluster = offline.cluster(),
                .allocator = core.allocator(),
                .now = offline.now(),
                .victim_scoring = options.victim_scoring} {}

  placement::DecisionCore core;
  const placement::SchedulingContext context;
};

}  // namespace berth::planning
