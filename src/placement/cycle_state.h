// One pod being placed: the input, the nodes that survive, what was decided.
//
// Owner: the scheduler, one thread. Buffers are reused from pod to pod.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/view.h"
#include "model/cluster.h"
#include "placement/refusal/diagnosis.h"
#include "placement/state_slots.h"

namespace berth::dra {
class Allocator;
}  // namespace berth::dra

namespace berth::placement {
using model::ClaimChoice;
using model::ClaimState;
using model::PodId;
using model::Reservation;
using model::ReservationPtr;
using model::value_of;

// Shared by all attempts of one decision.
struct SchedulingContext {
  const client::View& view;
  model::Cluster& cluster;
  dra::Allocator& allocator;
  Time now = {};  // not set: no allocation is late
  Duration binding_timeout = Duration::seconds(600);
};
struct CycleState {
  const SchedulingContext* context = nullptr;
  const api::Pod* pod = nullptr;
  PodId pod_id;
  std::vector<NodeId> candidates;    // by node name
  std::vector<std::int64_t> scores;  // of candidates, once scored
  Diagnosis diagnosis;
  StateSlots slots;             // of the pod: written by prefilters
  StateSlots node_slots;        // of the node accepted last: written by lazy filters
  std::int64_t preference = 0;  // of the node accepted last
  Reservation reservation;      // written by Reserve plugins

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

}  // namespace berth::placement
