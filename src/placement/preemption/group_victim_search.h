// Finds the pods of lower priority whose eviction makes room for a group that fits nowhere.
//
// Pure: it tries victims in the caller's transaction and undoes everything. Domain first: pods of lower
// priority are removed from all nodes, priority by priority, and what each node takes then is added up for
// each domain. That gives the priority that must go there at least, and how many pods. The domains come in
// the order of this bound; in each, all units of lower priority are removed, and as many as possible are
// taken back, with the members placed anew each time. So the victims are minimal, and they are where the
// members go. Owner: one DecisionCore, on one thread. Cost: O(pods) for the bounds; then the members of each
// check, at most kGroupPreemptionStepsMax. Source: KEP-5710, kube-scheduler 1.37, which tries the placement
// that scores best on an emptied cluster, and keeps it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "placement/groups/group_cycle.h"
#include "placement/preemption/victim_search.h"

namespace berth::placement {

// Of one decision, in members that are placed in checks. A search that reaches it takes the best that it has
// found.
inline constexpr std::size_t kGroupPreemptionStepsMax = std::size_t{1} << 17;
// Units of a domain of which all are tried; of more, those on the nodes that are the cheapest by the bounds.
inline constexpr std::size_t kGroupUnitsMax = 256;

// Units that are tried at once; of more, the least important.
inline constexpr std::size_t kGroupVictimsTriedMax = std::size_t{1} << 14;

// The members get their nodes once the victims are gone.
struct GroupPreemptionPlan : VictimPlan {
  std::string placement;      // path of the domain; empty: the whole cluster
  std::vector<NodeId> nodes;  // as GroupInput::waiting; none: the member stays where it is
};

class GroupVictimSearch {
 public:
  // It outlives this.
  explicit GroupVictimSearch(GroupCycle& groups) : groups_(groups) {}

  // The cheapest victims in one domain; or in `why_not` what the group lacks without them.
  std::optional<GroupPreemptionPlan> find(const SchedulingContext& context, const GroupInput& input,
                                          model::Ledger::Transaction& transaction, NoVictimsFound& why_not);

 private:
  GroupCycle& groups_;
};

}  // namespace berth::placement
