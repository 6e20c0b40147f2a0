// The units of pods that one preemptor may have evicted, in the order in which they are taken back, and what
// a set of them costs.
//
// Owner: one decision's search, on one thread. A unit is a pod, the members of a group or of a tree of groups
// that are evicted together, or a claim that nobody uses any more. Cost: on() O(pods of the nodes · log), and
// with devices the users of their claims. Source: kube-scheduler 1.37, framework/preemption.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "placement/entity.h"
#include "placement/preemption/victims.h"

namespace berth::placement {

// Units that are tried at once; of more, the least important.
inline constexpr std::size_t kVictimsTriedMax = 1024;
// Units of which all sets are tried that may be cheaper, in at most so many checks.
inline constexpr std::size_t kUnitsBranchedMax = 24, kBranchChecksMax = 1024;

struct PreemptionVictim {
  PodId pod;
  std::string uid;
  bool refused = false;             // by its budget: the Eviction API would not evict it
  bool with_group = false;          // its group goes as one
  bool invalid_checkpoint = false;  // its annotation does not count
};

// Who must go, and what is free then.
struct VictimPlan {
  std::vector<PreemptionVictim> victims;  // the most important first
  std::vector<PreemptionVictim> awaited;  // they end anyway, and their room is needed
  std::vector<model::ClaimId> claims;     // whose devices are needed, with the last of their users
  PreemptionCost cost;
  std::size_t groups = 0;  // that go as a whole
  bool ended = false;      // the search reached its budget
  model::Plan place;       // of the preemptor, without them
};

class VictimUnits {
 public:
  using Units = std::vector<VictimUnit>;
  using UnitSet = std::vector<std::size_t>;  // positions, ascending
  struct Preemptor {
    std::int32_t priority = 0;
    PodId self;            // none: a group
    bool devices = false;  // it asks for some
    std::size_t units_max = kVictimsTriedMax;
  };

  // All outlive it. The transaction's state now is the one without evictions.
  VictimUnits(const SchedulingContext& context, Preemptor preemptor, model::Ledger::Transaction& transaction);

  // Those with a pod on one of the nodes, or with one of `others`. They are taken back in this order: those
  // that could not come back, those whose budget refuses, the others, those that end anyway; each time the
  // most important first.
  Units on(std::span<const NodeId> nodes, std::span<const PodId> others = {});
  // The transaction without these units, and without anything else that was tried.
  void remove(const Units& units, const UnitSet& removed);
  void restore() { transaction_.roll_back_to(base_); }
  // A gang may lose the members that it has beyond its minimum, and a gang of groups such groups; where it
  // would lose more, it goes as a whole. True if that changes the units of on().
  bool takes_broken_gangs_whole(const Units& units, const UnitSet& removed);
  void forget_broken_gangs() { whole_.clear(); }
  // Whether on() has left out a pod that could be a victim once it is bound.
  bool waits_for_bindings() const { return waits_for_bindings_; }

  // The removed units, the most important first.
  Units sorted(const Units& units, const UnitSet& removed) const;
  // Of the removed units, in any order.
  PreemptionCost cost_of(const Units& units, const UnitSet& removed) const;
  // Fills in victims, awaited and groups. `victims`: the most important first.
  void name_victims(const Units& victims, VictimPlan& plan) const;
  // The live claims that the transaction has freed.
  std::vector<model::ClaimId> freed_claims() const;

 private:
  void add(PodId pod, Units& units);
  void add_sharing(Units& units);
  void add_idle_claims(std::span<const NodeId> nodes, Units& units);
  std::optional<VictimUnit> unit_of(std::vector<PodId> pods, std::int32_t priority, bool of_group);
  std::vector<PodId> members_of(const api::PodGroup& group) const;
  std::vector<PodId> members_of(const api::CompositePodGroup& composite) const;
  std::optional<std::vector<PodId>> evicted_with(const api::PodGroup& group) const;
  using Lost = std::map<client::NamedKey, std::int32_t>;  // pods of a group
  bool has_minimum(const api::PodGroup& group, const Lost& lost) const;
  // Below kTreeLevelsMax levels nothing counts: a circle of parents ends there.
  bool has_minimum(const api::CompositePodGroup& composite, const Lost& lost, std::size_t level = 1) const;
  void order(Units& units) const;

  const SchedulingContext& context_;
  const model::Cluster& cluster_;
  const Preemptor preemptor_;
  model::Ledger::Transaction& transaction_;
  const model::Ledger::Transaction::Savepoint base_;
  std::set<PodId> seen_;  // of one call of on()
  bool waits_for_bindings_ = false;
  std::set<EntityKey> whole_;  // gangs that would have too few members, or groups, left
};

VictimUnits::UnitSet all_of(const VictimUnits::Units& units);

// Units without which the preemptor fits.
struct RemovedUnits {
  VictimUnits::UnitSet units;
  PreemptionCost cost;
};
// What a search asks about sets of units.
struct UnitQuestions {
  std::function<bool(const VictimUnits::UnitSet&)> fits_without;
  std::function<PreemptionCost(const VictimUnits::UnitSet&)> cost_of;
  std::function<bool()> may_go_on;
};
// `best`, or the cheapest set that costs less, of at most kUnitsBranchedMax units. `order`: of all units; the
// first is kept first. A set never costs less than a part of it.
RemovedUnits cheapest_set(RemovedUnits best, const VictimUnits::UnitSet& order,
                          const UnitQuestions& questions);

// Takes back as many units as `fits_without` leaves room for, in the order `order`: whole ranges at once,
// since where all of a range may stay, each may. Repeated while that takes one back: rules about domains may
// depend on others. Ends when `may_go_on` of what is left to be removed says so. `removed`: the units without
// which the preemptor fits.
VictimUnits::UnitSet reprieve(VictimUnits::UnitSet removed, const VictimUnits::UnitSet& order,
                              const std::function<bool(const VictimUnits::UnitSet&)>& fits_without,
                              const std::function<bool(const VictimUnits::UnitSet&)>& may_go_on);

}  // namespace berth::placement
