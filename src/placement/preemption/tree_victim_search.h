// Finds the pods of lower priority whose eviction makes room for a tree of groups that fits nowhere.
//
// Pure, as cheapest_victims.h; the domains are the root's, and each group below stays in one of its own. Room
// is made for the minima that the tree needs, and nothing more: the others are placed where room is, and ask
// again. A tree that has its minima asks for all that its domain takes. Source: KEP-5710 and KEP-6012.
#pragma once

#include "placement/preemption/cheapest_victims.h"
#include "placement/trees/tree_cycle.h"

namespace berth::placement {

class TreeVictimSearch {
 public:
  // Both outlive it. `single`: see find_cheapest_victims().
  TreeVictimSearch(TreeCycle& trees, VictimSearch& single) : trees_(trees), single_(single) {}

  // The cheapest victims in one domain of the root; or in `why_not` what the tree lacks without them.
  std::optional<GroupPreemptionPlan> find(const SchedulingContext& context, const TreeInput& input,
                                          model::Ledger::Transaction& transaction, NoVictimsFound& why_not);

 private:
  TreeCycle& trees_;
  VictimSearch& single_;
};

}  // namespace berth::placement
