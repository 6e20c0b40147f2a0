// The cheapest pods of lower priority whose eviction makes room for a group, or for a tree of groups, in one
// of its domains.
//
// Pure: it tries victims in the caller's transaction and undoes everything. Domain first: pods of lower
// priority are removed from all nodes, priority by priority, and what each node takes then is added up for
// each domain. That gives the priority that must go there at least, and how many pods. Domains come in the
// order of this bound. In each, all units of lower priority are removed; then as many as possible return,
// with the members placed again each time. So the victims are minimal, and they are where the members go.
// In the best domain, pods that fit elsewhere then replace equal victims that do not, where that costs less.
// Owner: one DecisionCore, on one thread. Cost: O(pods) for the bounds; then the members of each check, at
// most kGroupPreemptionStepsMax. Source: KEP-5710, kube-scheduler 1.37, which tries the placement that scores
// best on an emptied cluster, and keeps it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "placement/groups/group_cycle.h"
#include "placement/preemption/domain_rooms.h"
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
  std::vector<NodeId> nodes;  // of the members that wait, in their order; none: the member stays where it is
};

// A group, or a tree of groups, that may have pods evicted.
class GroupPreemptor {
 public:
  GroupPreemptor() = default;
  GroupPreemptor(const GroupPreemptor&) = delete;
  GroupPreemptor& operator=(const GroupPreemptor&) = delete;
  virtual ~GroupPreemptor() = default;

  // All its members that wait, as one group of its priority.
  virtual const GroupInput& members() const = 0;
  // The domains that it may go to as a whole.
  virtual std::span<const Placement* const> placements() const = 0;
  // Members without which nothing is gained, and those that are worth victims.
  virtual std::size_t needed() const = 0;
  virtual std::size_t wanted() const = 0;

  struct Placed {
    std::size_t members = 0;  // 0: fewer than were asked for
    std::size_t steps = 0;    // that this took, in members
    bool ended = false;       // a budget was used up
  };
  // With which place() differs, the cheapest first.
  virtual std::span<const GroupEffort> efforts() const = 0;
  // Places members on one of the placements, in the transaction.
  virtual Placed place(std::size_t placement, std::size_t members, GroupEffort effort) = 0;
  // Of the latest place(), as members().waiting.
  virtual std::vector<NodeId> nodes() const = 0;
  // Orders in which domains inside a placement are spared, the dearest first: by node, the higher the
  // earlier. None: only nodes have prices.
  virtual std::vector<std::map<NodeId, std::size_t>> turns(const DomainRooms& rooms) = 0;
  // What it lacks in the transaction as it is, in Kubernetes' words; empty: nothing.
  virtual std::string lacks() = 0;
};

// In the cheapest domain; or in `why_not` what is missing without them.
// `single`: asked whom the victims evict when they come back.
std::optional<GroupPreemptionPlan> find_cheapest_victims(GroupCycle& groups, VictimSearch& single,
                                                         const SchedulingContext& context,
                                                         GroupPreemptor& preemptor,
                                                         model::Ledger::Transaction& transaction,
                                                         NoVictimsFound& why_not);

}  // namespace berth::placement
