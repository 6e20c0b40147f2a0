// One pod being placed: the query, the verdicts on nodes, what was chosen.
//
// Owner: the scheduler, one thread. Buffers are reused from pod to pod.
#pragma once

#include <vector>

#include "placement/node_verdicts.h"
#include "placement/pod_query.h"

namespace berth::placement {

struct CycleState : PodQuery, NodeVerdicts {
  model::Ledger::Transaction* what_if = nullptr;  // the decision's; null: none is open
  std::vector<std::int64_t> scores;               // of candidates, once scored
  NodeChoice choice;                              // of the node accepted last
  Reservation reservation;                        // written by Reserve plugins
};

}  // namespace berth::placement
