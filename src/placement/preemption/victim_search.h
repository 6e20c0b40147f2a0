// Finds the pods of lower priority whose eviction makes room for one that fits nowhere.
//
// Pure: it tries victims in the caller's transaction and undoes everything. On one node after the other it
// removes all pods of lower priority, and takes back as many as it can: first those that could not come back,
// then those whose budget refuses the eviction, then the others, the most important first. So the victims are
// minimal. Nodes come in the order of a lower bound of their cost (VictimIndex), and the search ends where
// the bound cannot be below the best. Owner: one DecisionCore, on one thread. Cost: a bound for each node,
// and O(victims · log pods) checks of one node for each node tried; at most kPreemptionChecksMax. Source:
// kube-scheduler 1.37, DefaultPreemption, which tries a tenth of the nodes, and frees no devices.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "placement/index/signature_cache.h"
#include "placement/preemption/victim_index.h"

namespace berth::placement {

// Of one decision. A search that reaches it takes the best that it has found.
inline constexpr std::size_t kPreemptionChecksMax = 4096;
// Units that are tried on one node; of more, the least important.
inline constexpr std::size_t kVictimsTriedMax = 1024;

struct PreemptionVictim {
  PodId pod;
  std::string uid;
  bool refused = false;     // by its budget: the Eviction API would not evict it
  bool with_group = false;  // its group goes as one
};

// The pod gets the node once the victims are gone.
struct PreemptionPlan {
  NodeId node;
  std::vector<PreemptionVictim> victims;  // the most important first
  std::vector<PreemptionVictim> awaited;  // they end anyway, and their room is needed
  std::vector<model::ClaimId> claims;     // whose devices are needed, with the last of their users
  PreemptionCost cost;
  bool ended = false;  // the search reached its budget
  model::Plan place;   // of the pod, without them
};

// Why nobody's eviction helps, in numbers of nodes.
struct NoVictimsFound {
  std::size_t without_victims = 0;
  std::vector<std::pair<std::string, std::size_t>> still;
  bool ended = false;
};

class VictimSearch {
 public:
  // It outlives this.
  explicit VictimSearch(const PodCycle& pods) : pods_(pods) {}

  // Whether any pod of lower priority could be evicted or ends soon. Before the transaction tries anything.
  bool may_find(const SchedulingContext& context, std::int32_t priority);
  // After may_find(): the cheapest victims on one of `nodes` (by name), all of which refused the pod; or why
  // there are none.
  std::optional<PreemptionPlan> find(const SchedulingContext& context, const api::Pod& pod,
                                     std::span<const RefusedByNode> nodes, std::span<const NodeId> avoid,
                                     model::Ledger::Transaction& transaction, NoVictimsFound& why_not);

 private:
  const PodCycle& pods_;
  VictimIndex index_;
  CycleState state_;
};

}  // namespace berth::placement
