// The answer about a set of nodes: candidates survive, the diagnosis has the others and why.
//
// Owner: one attempt. Buffers are reused from pod to pod.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/refusal/diagnosis.h"
#include "placement/state_slots.h"

namespace berth::placement {

struct NodeVerdicts {
  std::vector<NodeId> candidates;  // by node name
  Diagnosis diagnosis;

  bool over() const { return !diagnosis.error().empty() || diagnosis.refused_everywhere(); }
  // Keeps the candidates for which `keep(node)` is true; refuses the others for this reason.
  template <class Keep>
  void keep_if(const Reason& row, Keep keep) {
    ReasonId reason;
    keep_if([&](NodeId node) {
      if (keep(node)) return true;
      if (!reason.valid()) reason = diagnosis.reason(row);
      diagnosis.refuse(node, reason);
      return false;
    });
  }
  // Keeps the candidates for which `keep(node)` is true. `keep` refuses the others itself.
  template <class Keep>
  void keep_if(Keep keep) {
    std::size_t kept = 0;
    for (const NodeId node : candidates)
      if (keep(node)) candidates[kept++] = node;
    candidates.resize(kept);
  }
};

// What lazy filters chose on the node that they accepted.
struct NodeChoice {
  StateSlots slots;
  std::int64_t preference = 0;  // higher is better; 0: none
};

}  // namespace berth::placement
