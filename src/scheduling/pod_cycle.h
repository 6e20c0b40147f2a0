// Chooses a node for one pod: every node is judged, the best score wins, ties go to the first name.
//
// Owner: the scheduler. Changes nothing but the open transaction, and that only in `reserve`. Costly filters
// are asked best node first, so that a pod that fits pays for one node's devices.
#pragma once

#include <span>

#include "scheduling/framework.h"

namespace berth::scheduling {

class PodCycle {
 public:
  explicit PodCycle(const PluginSet& plugins) : plugins_(plugins) {}

  // Starts an attempt over `nodes` (by name) without those in `avoid`, in the buffers of an earlier one.
  void begin(Attempt& attempt, const World& world, const api::Pod& pod, std::span<const NodeId> nodes,
             std::span<const NodeId> avoid) const;
  // None when the pod fits nowhere or the attempt failed: the diagnosis says why.
  NodeId choose(Attempt& attempt) const;
  // Charges the chosen node, and the devices that were found for it.
  void reserve(Attempt& attempt, NodeId node, model::Ledger::Transaction& transaction) const;
  // Runs the cheap filters alone on what `begin` left: an upper bound of where the pod could go.
  void filter_only(Attempt& attempt) const;

 private:
  NodeId best_accepted(Attempt& attempt) const;

  const PluginSet& plugins_;
};

inline constexpr std::string_view kAvoidedReason = "node(s) are avoided for a while after a failed binding";

}  // namespace berth::scheduling
