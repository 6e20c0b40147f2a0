// Finds the pods of lower priority whose eviction makes room for a group that fits nowhere.
//
// Pure, as cheapest_victims.h. As many members get room as the domain takes without its victims.
#pragma once

#include "placement/preemption/cheapest_victims.h"

namespace berth::placement {

class GroupVictimSearch {
 public:
  // Both outlive it. `single`: see find_cheapest_victims().
  GroupVictimSearch(GroupCycle& groups, VictimSearch& single) : groups_(groups), single_(single) {}

  // The cheapest victims in one domain; or in `why_not` what the group lacks without them.
  std::optional<GroupPreemptionPlan> find(const SchedulingContext& context, const GroupInput& input,
                                          model::Ledger::Transaction& transaction, NoVictimsFound& why_not);

 private:
  GroupCycle& groups_;
  VictimSearch& single_;
};

}  // namespace berth::placement
