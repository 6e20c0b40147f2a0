// Finds the pods of lower priority whose eviction makes room for one that fits nowhere.
//
// Pure: it tries victims in the caller's transaction and undoes everything. On one node after the other it
// removes all pods of lower priority, and takes back as many as it can. Pods that could not come back return
// first, then those whose budget refuses the eviction, then the others, the most important first. So the
// victims are minimal. Nodes come in the order of a lower bound of their cost (VictimIndex), and the search
// ends where the bound cannot be below the best. Where no node's own pods are enough, pods elsewhere that a
// rule about a zone counts, or that use the pod's volume, go as well (far_victims.h). The what-if places each
// victim again that its controller makes again, with the devices it asks for. A victim that finds room costs
// less, and on the chosen node it goes before an equal one. Where budgets protect pods, one that needs
// victims itself adds those that budgets refuse. Owner: one DecisionCore, on one thread. Cost: a bound for
// each node, and O(victims · log pods) checks of one node for each node tried; at most kPreemptionChecksMax.
// Source: kube-scheduler 1.37, DefaultPreemption, which tries a tenth of the nodes, and frees no devices.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "placement/index/signature_cache.h"
#include "placement/preemption/victim_index.h"
#include "placement/preemption/victim_units.h"

namespace berth::placement {

// Of one decision. A search that reaches it takes the best that it has found.
inline constexpr std::size_t kPreemptionChecksMax = 4096;
// Nodes that are tried with victims on other nodes.
inline constexpr std::size_t kFarNodesMax = 64;
// Victims of one set that are placed again; the others count as those without room. One that asks for devices
// is not placed where more nodes than this might take it but for those; it counts as one that fits.
inline constexpr std::size_t kReturnsMax = 16;
inline constexpr std::size_t kReturnNodesMax = 256;
// Sets of victims of one decision that are placed again; one of which nobody fits counts as so many. Of the
// other sets it is assumed that they are no better.
inline constexpr std::size_t kReturnSetsMax = 16, kVainReturnSets = 4;
// Victims of one decision of which it is asked whom they evict when they come back.
inline constexpr std::size_t kReturnSearchesMax = 16;
// Of the cache of what nodes say to them.
inline constexpr std::size_t kReturnBytesMax = std::size_t{16} << 20;

// The pod gets the node once the victims are gone.
struct PreemptionPlan : VictimPlan {
  NodeId node;
};

// Why nobody's eviction helps, in numbers of nodes.
struct NoVictimsFound {
  std::size_t without_victims = 0;
  std::vector<std::pair<std::string, std::size_t>> still;
  bool ended = false;
  bool waits_for_bindings = false;  // a pod that is being bound could be a victim once it is
};

// What becomes of victims when their controllers make them again.
struct VictimReturns {
  std::uint32_t refused = 0;  // evictions that budgets refuse, of those that they cause
  std::uint32_t placed = 0;   // victims
};

void add_returns(const VictimReturns& returns, PreemptionCost& cost);

// What is left of one decision's budgets.
struct ReturnBudget {
  std::size_t sets = 0;
  std::size_t searches = kReturnSearchesMax;
  bool over() const { return sets == 0; }
};
// Once it is over, sets of victims that are not asked about cost by their returns what the best set does.
void assume_no_better(const ReturnBudget& budget, const PreemptionCost& best, PreemptionCost& cost);

class VictimSearch {
 public:
  // Both outlive this.
  VictimSearch(const PodCycle& pods, DomainIndex& domains)
      : pods_(pods), return_nodes_(pods, domains, kReturnBytesMax) {}

  // Whether any pod of lower priority could be evicted or ends soon. Before the transaction tries anything.
  bool may_find(const SchedulingContext& context, std::int32_t priority);
  // After may_find(): the cheapest victims on one of `nodes` (by name), all of which refused the pod; or why
  // there are none.
  std::optional<PreemptionPlan> find(const SchedulingContext& context, const api::Pod& pod,
                                     std::span<const RefusedByNode> nodes, std::span<const NodeId> avoid,
                                     model::Ledger::Transaction& transaction, NoVictimsFound& why_not);
  // After may_find().
  ReturnBudget return_budget() const;
  // In a transaction without these victims and with the preemptor at its place. They are placed in it, the
  // most important first.
  VictimReturns returns_of(const SchedulingContext& context, const VictimUnits::Units& victims,
                           ReturnBudget& budget, model::Ledger::Transaction& transaction);
  // In the same transaction: whether a pod of this unit finds room once more, by itself. The unit may still
  // be where it is.
  bool fits_again(const SchedulingContext& context, const VictimUnit& unit,
                  model::Ledger::Transaction& transaction);

 private:
  const PodCycle& pods_;
  VictimIndex index_;
  SignatureCache return_nodes_;
  CycleState state_, returning_;
};

}  // namespace berth::placement
