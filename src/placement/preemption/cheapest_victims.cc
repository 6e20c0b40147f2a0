#include "placement/preemption/cheapest_victims.h"

#include <algorithm>
#include <functional>
#include <tuple>

#include "placement/claims.h"

namespace berth::placement {
namespace {

using Units = VictimUnits::Units;
using UnitSet = VictimUnits::UnitSet;

// Units that are removed in exchange for others, one by one.
constexpr std::size_t kExchangesMax = 64;
// Victims without which all choices are tried, one by one.
constexpr std::size_t kSpareChecksMax = 16;

bool any_asks_for_devices(const GroupInput& input) {
  return std::ranges::any_of(input.waiting, [](const api::Pod* pod) { return asks_for_devices(*pod); });
}

// One decision's search.
class CheapestVictims {
 public:
  CheapestVictims(GroupCycle& groups, VictimSearch& single, const SchedulingContext& context,
                  GroupPreemptor& preemptor, model::Ledger::Transaction& transaction)
      : single_(single),
        context_(context),
        preemptor_(preemptor),
        cluster_(context.cluster),
        transaction_(transaction),
        units_(context,
               {preemptor.members().group->priority, PodId::none(), any_asks_for_devices(preemptor.members()),
                kGroupVictimsTriedMax},
               transaction),
        rooms_(groups, context, preemptor.members(), preemptor.wanted(), preemptor.placements(), transaction),
        returns_(single.return_budget()) {}

  std::optional<GroupPreemptionPlan> run(NoVictimsFound& why_not);

 private:
  // More members first, then the cheaper victims, then the domain that is fuller with the members.
  struct Worth {
    std::size_t left_out = 0;  // members
    PreemptionCost cost;
    std::int64_t free_millionths = 0;
    std::size_t placement = 0;
    friend auto operator<=>(const Worth&, const Worth&) = default;
  };
  struct Chosen {
    Worth worth;
    Units victims;  // the most important first
    GroupEffort effort = GroupEffort::InOrder;
    Units units;      // of which they were chosen
    UnitSet removed;  // the victims
  };

  bool over() const { return steps_ >= kGroupPreemptionStepsMax; }
  // What makes victims cheaper is tried while the domain has steps left: every domain gets its share.
  bool may_improve() const { return !over() && steps_ < domain_steps_end_; }
  std::vector<Worth> bounds() const;
  std::size_t place(std::size_t members);
  bool fits_without(const Units& units, const UnitSet& removed);
  std::optional<Chosen> try_domain(const Worth& bound);
  std::optional<Chosen> try_nodes(std::span<const NodeId> nodes);
  using Removed = RemovedUnits;
  UnitSet cheapest(const Units& units);
  std::vector<UnitSet> orders(const Units& units);
  std::optional<Removed> exchanged(const Units& units, const Removed& now, std::size_t more,
                                   const UnitSet& order);
  bool reaches_bound(const PreemptionCost& cost) const;
  bool is_cheapest(const Units& units, const UnitSet& removed) const;
  Removed with_exchanges(const Units& units, Removed best, const UnitSet& order);
  Removed reprieved(const Units& units, const UnitSet& from, const UnitSet& order);
  UnitSet without_spare(const Units& units, UnitSet removed);
  Chosen chosen_of(Units units, UnitSet removed) const;
  void ask_about_returns(Chosen& chosen);
  // Units that may go instead of others, which fit nowhere else.
  struct Exchange {
    UnitSet without_room, movable;
  };
  Exchange exchange_in(const Chosen& chosen);
  void prefer_moves(Chosen& best);
  std::optional<GroupPreemptionPlan> plan(const Chosen& chosen);
  void say_why_not(NoVictimsFound& why_not);

  const Placement& placement(std::size_t at) const { return *preemptor_.placements()[at]; }

  VictimSearch& single_;
  const SchedulingContext& context_;
  GroupPreemptor& preemptor_;
  const model::Cluster& cluster_;
  model::Ledger::Transaction& transaction_;
  VictimUnits units_;
  const DomainRooms rooms_;
  std::size_t steps_ = 0;
  ReturnBudget returns_;
  bool ended_ = false;  // a check used its budget up
  std::size_t domain_steps_max_ = kGroupPreemptionStepsMax;
  // Of the domain that is tried:
  std::size_t domain_steps_end_ = 0;
  std::size_t at_ = 0;
  PreemptionCost bound_;     // below which no victims cost there
  std::size_t members_ = 0;  // that fit without all units
  GroupEffort effort_ = GroupEffort::InOrder;
};

// The domains that may take the group, the best first.
std::vector<CheapestVictims::Worth> CheapestVictims::bounds() const {
  std::vector<Worth> bounds;
  for (std::size_t at = 0; at < preemptor_.placements().size(); ++at)
    if (const auto bound = rooms_.bound(placement(at), preemptor_.needed(), preemptor_.wanted()))
      bounds.push_back(
          {preemptor_.wanted() - bound->members, bound->cost, rooms_.free_millionths(placement(at)), at});
  std::ranges::sort(bounds);
  return bounds;
}

// The members that fit now in the domain that is tried; fewer than `members` count as none.
std::size_t CheapestVictims::place(std::size_t members) {
  const GroupPreemptor::Placed placed = preemptor_.place(at_, members, effort_);
  steps_ += placed.steps;
  ended_ = ended_ || placed.ended;
  return placed.members;
}

bool CheapestVictims::fits_without(const Units& units, const UnitSet& removed) {
  units_.remove(units, removed);
  return place(members_) >= members_;
}

// In which order units may be taken back, the cheapest orders first: within one priority those on the dearest
// nodes first, or those of the dearest domains. Which evictions a budget refuses depends on who else goes, so
// once it is not asked, and once those with most refused pods come first.
std::vector<UnitSet> CheapestVictims::orders(const Units& units) {
  units_.restore();
  const auto turns = [&](const std::function<std::size_t(NodeId)>& of_node) {
    std::vector<std::size_t> turn(units.size());
    for (std::size_t i = 0; i < units.size(); ++i)
      for (const PodId pod : units[i].pods)
        turn[i] = std::max(turn[i], of_node(cluster_.ledger().node_of(pod)));
    return turn;
  };
  const std::vector<std::size_t> turn = turns([&](NodeId node) { return rooms_.turn(node); });
  enum class Budgets : std::uint8_t { First, Largest, Ignored };
  const auto sorted = [&](Budgets budgets, const std::vector<std::size_t>& of_domain) {
    UnitSet order = all_of(units);
    std::ranges::stable_sort(order, {}, [&](std::size_t at) {
      VictimUnit like{.ends_soon = units[at].ends_soon, .tied = units[at].tied};
      like.refused = units[at].refused && budgets != Budgets::Ignored;
      const std::size_t refused = like.refused && budgets == Budgets::Largest ? units[at].pods.size() : 0;
      return std::tuple(turn_of(like), SIZE_MAX - refused, of_domain.empty() ? 0 : SIZE_MAX - of_domain[at],
                        -std::int64_t{units[at].priority}, SIZE_MAX - turn[at]);
    });
    return order;
  };
  std::vector<UnitSet> orders{sorted(Budgets::First, {}), sorted(Budgets::Ignored, {}),
                              sorted(Budgets::Largest, {}), all_of(units)};
  for (const std::map<NodeId, std::size_t>& domains : preemptor_.turns(rooms_))
    orders.push_back(sorted(Budgets::First, turns([&](NodeId node) {
                              const auto found = domains.find(node);
                              return found == domains.end() ? SIZE_MAX : found->second;
                            })));
  return orders;
}

// Start times are not compared.
bool CheapestVictims::reaches_bound(const PreemptionCost& cost) const {
  return cost.tied == 0 && cost.refused == 0 && cost.refused_later == 0 && cost.top <= bound_.top &&
         cost.lost <= bound_.lost && cost.sum <= bound_.sum && cost.victims <= bound_.victims;
}

// Whether no set of victims can cost less, by the bound of the domain.
bool CheapestVictims::is_cheapest(const Units& units, const UnitSet& removed) const {
  if (removed.size() > bound_.victims) return false;
  return reaches_bound(units_.cost_of(units, removed));
}

CheapestVictims::Removed CheapestVictims::reprieved(const Units& units, const UnitSet& from,
                                                    const UnitSet& order) {
  Removed removed{reprieve(
                      from, order, [&](const UnitSet& without) { return fits_without(units, without); },
                      [&](const UnitSet& left) { return !over() && !is_cheapest(units, left); }),
                  {}};
  removed.cost = units_.cost_of(units, removed.units);
  return removed;
}

// One more unit goes in exchange for others.
std::optional<CheapestVictims::Removed> CheapestVictims::exchanged(const Units& units, const Removed& now,
                                                                   std::size_t more, const UnitSet& order) {
  UnitSet from = now.units, last = order;
  from.insert(std::ranges::lower_bound(from, more), more);
  std::erase(last, more);
  UnitSet least_first(last.rbegin(), last.rend());
  for (UnitSet* one : {&last, &least_first}) {
    one->push_back(more);
    if (Removed removed = reprieved(units, from, *one); removed.cost < now.cost) return removed;
  }
  return std::nullopt;
}

CheapestVictims::Removed CheapestVictims::with_exchanges(const Units& units, Removed best,
                                                         const UnitSet& order) {
  std::size_t tries = 0;
  for (std::size_t i = units.size(); i-- > 0 && tries < kExchangesMax && may_improve();) {
    if (std::ranges::binary_search(best.units, order[i])) continue;
    ++tries;
    if (auto cheaper = exchanged(units, best, order[i], order)) {
      best = *std::move(cheaper);
      i = units.size();
    }
  }
  return best;
}

// What several orders of taking back leave: the cheapest. Of few units all sets are tried that may be
// cheaper; of many, exchanges.
UnitSet CheapestVictims::cheapest(const Units& units) {
  const std::vector<UnitSet> orders = this->orders(units);
  std::optional<Removed> best;
  for (const UnitSet& order : orders) {
    if (Removed removed = reprieved(units, all_of(units), order); !best || removed.cost < best->cost)
      best = std::move(removed);
    if (is_cheapest(units, best->units)) return std::move(best->units);
  }
  if (units.size() <= kUnitsBranchedMax)
    best = cheapest_set(
        *std::move(best), orders.front(),
        {[&](const UnitSet& without) { return fits_without(units, without); },
         [&](const UnitSet& gone) { return units_.cost_of(units, gone); }, [&] { return may_improve(); }});
  else
    best = with_exchanges(units, *std::move(best), orders.front());
  return without_spare(units, std::move(best->units));
}

// Members in their own order may need more room than all choices show.
UnitSet CheapestVictims::without_spare(const Units& units, UnitSet removed) {
  if (removed.size() > kSpareChecksMax || effort_ == GroupEffort::AllChoices) return removed;
  const GroupEffort before = std::exchange(effort_, GroupEffort::AllChoices);
  bool helped = false;
  for (const std::size_t at : UnitSet(removed)) {
    if (over()) break;
    UnitSet without = removed;
    std::erase(without, at);
    if (!fits_without(units, without)) continue;
    removed = std::move(without);
    helped = true;
  }
  if (!helped) effort_ = before;
  return removed;
}

std::optional<CheapestVictims::Chosen> CheapestVictims::try_nodes(std::span<const NodeId> nodes) {
  units_.forget_broken_gangs();
  Units units;
  UnitSet removed;
  do {
    units_.restore();
    units = units_.on(nodes);
    if (units.empty()) return std::nullopt;
    members_ = 0;
    for (const GroupEffort effort : preemptor_.efforts()) {
      if (members_ > 0) break;
      effort_ = effort;
      units_.remove(units, all_of(units));
      members_ = place(preemptor_.needed());
    }
    if (members_ == 0) return std::nullopt;
    removed = cheapest(units);
  } while (units_.takes_broken_gangs_whole(units, removed));
  if (removed.empty()) return std::nullopt;
  return chosen_of(std::move(units), std::move(removed));
}

CheapestVictims::Chosen CheapestVictims::chosen_of(Units units, UnitSet removed) const {
  const std::size_t left_out = preemptor_.wanted() - std::min(preemptor_.wanted(), members_);
  const Worth worth{left_out, units_.cost_of(units, removed), rooms_.free_millionths(placement(at_)), at_};
  Units victims = units_.sorted(units, removed);
  return {worth, std::move(victims), effort_, std::move(units), std::move(removed)};
}

// Where there are many victims, first those of the cheapest nodes: as many as are enough by the bounds, then
// twice as many to choose from.
std::optional<CheapestVictims::Chosen> CheapestVictims::try_domain(const Worth& bound) {
  at_ = bound.placement;
  bound_ = bound.cost;
  domain_steps_end_ = steps_ + domain_steps_max_;
  const Placement& domain = placement(at_);
  for (const std::size_t times : {1, 2}) {
    if (rooms_.victims(domain) <= kGroupUnitsMax) break;
    auto chosen = try_nodes(rooms_.cheapest(domain, preemptor_.wanted() * times));
    if (chosen && chosen->worth.left_out == 0 && (times == 2 || reaches_bound(chosen->worth.cost)))
      return chosen;
  }
  return try_nodes(domain.nodes);
}

// What the returns of the victims add to their cost, once the members have their places.
void CheapestVictims::ask_about_returns(Chosen& chosen) {
  VictimReturns returns;
  at_ = chosen.worth.placement;
  effort_ = chosen.effort;
  units_.remove(chosen.victims, all_of(chosen.victims));
  if (place(preemptor_.wanted() - chosen.worth.left_out) > 0)
    returns = single_.returns_of(context_, chosen.victims, returns_, transaction_);
  add_returns(returns, chosen.worth.cost);
  units_.restore();
}

// Once the members have their places. The least important units are asked about.
CheapestVictims::Exchange CheapestVictims::exchange_in(const Chosen& chosen) {
  const Units& units = chosen.units;
  const auto equals = [&](std::size_t a, std::size_t b) {
    return std::tuple(turn_of(units[a]), units[a].priority, units[a].lost) ==
           std::tuple(turn_of(units[b]), units[b].priority, units[b].lost);
  };
  Exchange exchange;
  units_.remove(units, chosen.removed);
  if (place(members_) == 0) return exchange;
  std::size_t asked = 0;
  for (std::size_t i = chosen.removed.size(); i-- > 0 && asked < kReturnsMax;) {
    const std::size_t at = chosen.removed[i];
    if (units[at].ends_soon) continue;
    ++asked;
    if (!single_.fits_again(context_, units[at], transaction_)) exchange.without_room.push_back(at);
  }
  asked = 0;
  for (std::size_t at = units.size(); at-- > 0 && asked < kReturnsMax;) {
    const auto is_equal = [&](std::size_t other) { return equals(at, other); };
    if (std::ranges::binary_search(chosen.removed, at) ||
        std::ranges::none_of(exchange.without_room, is_equal))
      continue;
    ++asked;
    if (single_.fits_again(context_, units[at], transaction_)) exchange.movable.push_back(at);
  }
  return exchange;
}

// In the chosen domain, pods that fit elsewhere go rather than others of their priority, if that costs less.
void CheapestVictims::prefer_moves(Chosen& best) {
  if (returns_.over() || best.worth.cost.without_room == 0 || over()) return;
  at_ = best.worth.placement;
  effort_ = best.effort;
  members_ = preemptor_.wanted() - best.worth.left_out;
  domain_steps_end_ = steps_ + domain_steps_max_;
  const Exchange exchange = exchange_in(best);
  if (exchange.movable.empty()) return;
  UnitSet from = best.removed;
  from.insert(from.end(), exchange.movable.begin(), exchange.movable.end());
  std::ranges::sort(from);
  const auto has = [](const UnitSet& set, std::size_t at) { return std::ranges::find(set, at) != set.end(); };
  UnitSet order = all_of(best.units);
  std::ranges::stable_sort(order, {}, [&](std::size_t at) {
    return has(exchange.without_room, at) ? 0 : has(exchange.movable, at) ? 2 : 1;
  });
  UnitSet removed = reprieve(
      from, order, [&](const UnitSet& without) { return fits_without(best.units, without); },
      [&](const UnitSet&) { return may_improve(); });
  if (!may_improve()) return;
  removed = without_spare(best.units, std::move(removed));
  units_.forget_broken_gangs();
  if (removed == best.removed || units_.takes_broken_gangs_whole(best.units, removed)) return;
  Chosen chosen = chosen_of(best.units, std::move(removed));
  ask_about_returns(chosen);
  if (chosen.worth < best.worth) best = std::move(chosen);
}

std::optional<GroupPreemptionPlan> CheapestVictims::plan(const Chosen& chosen) {
  GroupPreemptionPlan plan;
  at_ = chosen.worth.placement;
  effort_ = chosen.effort;
  plan.placement = placement(at_).name;
  plan.cost = chosen.worth.cost;
  units_.restore();
  units_.name_victims(chosen.victims, plan);
  units_.remove(chosen.victims, all_of(chosen.victims));
  plan.claims = units_.freed_claims();
  const auto before = transaction_.savepoint();
  if (place(preemptor_.wanted() - chosen.worth.left_out) == 0) return std::nullopt;
  plan.nodes = preemptor_.nodes();
  plan.place = transaction_.take_since(before);
  return plan;
}

void CheapestVictims::say_why_not(NoVictimsFound& why_not) {
  why_not.waits_for_bindings = rooms_.waits_for_bindings();
  why_not.without_victims = rooms_.has_victims() ? 0 : 1;
  if (!rooms_.has_victims()) return;
  rooms_.remove_all();
  if (std::string lacks = preemptor_.lacks(); !lacks.empty()) why_not.still.emplace_back(std::move(lacks), 1);
}

std::optional<GroupPreemptionPlan> CheapestVictims::run(NoVictimsFound& why_not) {
  std::optional<Chosen> best;
  const std::vector<Worth> bounds = rooms_.has_victims() ? this->bounds() : std::vector<Worth>{};
  domain_steps_max_ /= std::max<std::size_t>(1, bounds.size());
  for (const Worth& bound : bounds) {
    Worth at_least = bound;
    if (best) assume_no_better(returns_, best->worth.cost, at_least.cost);
    if (over() || (best && best->worth <= at_least)) break;
    auto chosen = try_domain(bound);
    if (best && chosen) assume_no_better(returns_, best->worth.cost, chosen->worth.cost);
    const auto is_better = [&] { return chosen && (!best || chosen->worth < best->worth); };
    if (!is_better()) continue;
    if (!returns_.over()) ask_about_returns(*chosen);
    if (is_better()) best = std::move(chosen);
  }
  if (best) prefer_moves(*best);
  std::optional<GroupPreemptionPlan> found;
  if (best) found = plan(*best);
  units_.restore();
  const bool ended = over() || ended_;
  if (found) found->ended = ended;
  if (!found) say_why_not(why_not);
  if (!found) why_not.ended = ended;
  units_.restore();
  return found;
}

}  // namespace

std::optional<GroupPreemptionPlan> find_cheapest_victims(GroupCycle& groups, VictimSearch& single,
                                                         const SchedulingContext& context,
                                                         GroupPreemptor& preemptor,
                                                         model::Ledger::Transaction& transaction,
                                                         NoVictimsFound& why_not) {
  return CheapestVictims(groups, single, context, preemptor, transaction).run(why_not);
}

}  // namespace berth::placement
