#include "placement/preemption/group_victim_search.h"

#include <algorithm>
#include <tuple>

#include "placement/claims.h"
#include "placement/preemption/domain_rooms.h"
#include "placement/refusal/kubernetes_words.h"

namespace berth::placement {
namespace {

using Units = VictimUnits::Units;
using UnitSet = VictimUnits::UnitSet;

// A search through all choices counts as so many members.
constexpr std::size_t kAllChoicesSteps = 512;
// Victims without which all choices are tried, one by one.
constexpr std::size_t kSpareChecksMax = 16;

bool any_asks_for_devices(const GroupInput& input) {
  return std::ranges::any_of(input.waiting, [](const api::Pod* pod) { return asks_for_devices(*pod); });
}

// One decision's search.
class GroupSearch {
 public:
  GroupSearch(GroupCycle& groups, const SchedulingContext& context, const GroupInput& input,
              model::Ledger::Transaction& transaction)
      : groups_(groups),
        context_(context),
        cluster_(context.cluster),
        input_(input),
        transaction_(transaction),
        units_(context, {input.group->priority, PodId::none(), any_asks_for_devices(input)}, transaction),
        needed_(static_cast<std::size_t>(std::max(1, input.group->minimum() - input.scheduled))),
        placements_(groups.placements(context, input, transaction)),
        rooms_(groups, context, input, placements_, transaction) {}

  std::optional<GroupPreemptionPlan> run(NoVictimsFound& why_not);

 private:
  // More members first, then the cheaper victims.
  struct Worth {
    std::size_t left_out = 0;  // members
    PreemptionCost cost;
    std::size_t placement = 0;
    friend auto operator<=>(const Worth&, const Worth&) = default;
  };
  struct Chosen {
    Worth worth;
    Units victims;  // the most important first
    GroupEffort effort = GroupEffort::InOrder;
  };

  bool over() const { return steps_ >= kGroupPreemptionStepsMax; }
  std::vector<Worth> bounds() const;
  std::size_t place(std::size_t members);
  bool fits_without(const Units& units, const UnitSet& removed);
  std::optional<Chosen> try_domain(std::size_t placement);
  std::optional<Chosen> try_nodes(std::span<const NodeId> nodes);
  UnitSet cheapest(const Units& units);
  UnitSet by_nodes(const Units& units);
  UnitSet without_spare(const Units& units, UnitSet removed);
  Units picked(const Units& units, const UnitSet& removed) const;
  std::optional<GroupPreemptionPlan> plan(const Chosen& chosen);
  void say_why_not(NoVictimsFound& why_not);

  GroupCycle& groups_;
  const SchedulingContext& context_;
  const model::Cluster& cluster_;
  const GroupInput& input_;
  model::Ledger::Transaction& transaction_;
  VictimUnits units_;
  const std::size_t needed_;  // members
  const std::vector<Placement> placements_;
  const DomainRooms rooms_;
  std::size_t steps_ = 0;
  // Of the domain that is tried:
  std::size_t at_ = 0;
  std::size_t members_ = 0;  // that fit without all units
  GroupEffort effort_ = GroupEffort::InOrder;
};

// The domains that may take the group, the best first.
std::vector<GroupSearch::Worth> GroupSearch::bounds() const {
  std::vector<Worth> bounds;
  for (std::size_t at = 0; at < placements_.size(); ++at)
    if (const auto bound = rooms_.bound(placements_[at], needed_))
      bounds.push_back({input_.waiting.size() - bound->members, bound->cost, at});
  std::ranges::sort(bounds);
  return bounds;
}

// The members that fit now in the domain that is tried; fewer than `members` count as none.
std::size_t GroupSearch::place(std::size_t members) {
  steps_ += input_.waiting.size() + (effort_ == GroupEffort::AllChoices ? kAllChoicesSteps : 0);
  return groups_.run_on(context_, input_, placements_[at_], members, effort_, transaction_).placed();
}

bool GroupSearch::fits_without(const Units& units, const UnitSet& removed) {
  units_.remove(units, removed);
  return place(members_) >= members_;
}

Units GroupSearch::picked(const Units& units, const UnitSet& removed) const {
  Units victims;
  for (const std::size_t at : removed) victims.push_back(units[at]);
  std::ranges::sort(victims,
                    [&](const VictimUnit& a, const VictimUnit& b) { return more_important(cluster_, a, b); });
  return victims;
}

// Within one priority, units on the dearest nodes are taken back first.
UnitSet GroupSearch::by_nodes(const Units& units) {
  units_.restore();
  std::vector<std::size_t> turn(units.size());
  for (std::size_t i = 0; i < units.size(); ++i)
    for (const PodId pod : units[i].pods)
      turn[i] = std::max(turn[i], rooms_.turn(cluster_.ledger().node_of(pod)));
  UnitSet order = all_of(units);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t at) {
      return std::tuple(turn_of(units[at]), -std::int64_t{units[at].priority}, SIZE_MAX - turn[at]);
    };
    return key(a) < key(b);
  });
  return order;
}

// What two orders of taking back leave: the cheaper one.
UnitSet GroupSearch::cheapest(const Units& units) {
  UnitSet best;
  std::optional<PreemptionCost> least;
  for (const UnitSet& order : {by_nodes(units), all_of(units)}) {
    UnitSet removed = reprieve(
        all_of(units), order, [&](const UnitSet& without) { return fits_without(units, without); },
        [&] { return !over(); });
    const PreemptionCost cost = units_.cost_of(picked(units, removed));
    if (least && *least <= cost) continue;
    best = std::move(removed);
    least = cost;
  }
  return without_spare(units, std::move(best));
}

// Members in their own order may need more room than all choices show.
UnitSet GroupSearch::without_spare(const Units& units, UnitSet removed) {
  if (removed.size() > kSpareChecksMax) return removed;
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

std::optional<GroupSearch::Chosen> GroupSearch::try_nodes(std::span<const NodeId> nodes) {
  units_.forget_broken_gangs();
  Units units;
  UnitSet removed;
  do {
    units_.restore();
    units = units_.on(nodes);
    if (units.empty()) return std::nullopt;
    members_ = 0;
    for (const GroupEffort effort : {GroupEffort::InOrder, GroupEffort::AllChoices}) {
      if (members_ > 0) break;
      effort_ = effort;
      units_.remove(units, all_of(units));
      members_ = place(needed_);
    }
    if (members_ == 0) return std::nullopt;
    removed = cheapest(units);
  } while (units_.takes_broken_gangs_whole(units, removed));
  if (removed.empty()) return std::nullopt;
  Chosen chosen{{input_.waiting.size() - members_, {}, at_}, picked(units, removed), effort_};
  chosen.worth.cost = units_.cost_of(chosen.victims);
  return chosen;
}

// Where there are many victims, first those of the cheapest nodes that may be enough.
std::optional<GroupSearch::Chosen> GroupSearch::try_domain(std::size_t placement) {
  at_ = placement;
  const Placement& domain = placements_[placement];
  if (rooms_.victims(domain) > kGroupUnitsMax)
    if (auto chosen = try_nodes(rooms_.cheapest(domain, input_.waiting.size() * 2));
        chosen && chosen->worth.left_out == 0)
      return chosen;
  return try_nodes(domain.nodes);
}

std::optional<GroupPreemptionPlan> GroupSearch::plan(const Chosen& chosen) {
  GroupPreemptionPlan plan;
  at_ = chosen.worth.placement;
  plan.placement = placements_[at_].name;
  plan.cost = chosen.worth.cost;
  units_.restore();
  units_.name_victims(chosen.victims, plan);
  units_.remove(chosen.victims, all_of(chosen.victims));
  plan.claims = units_.freed_claims();
  const auto before = transaction_.savepoint();
  const std::size_t members = input_.waiting.size() - chosen.worth.left_out;
  const GroupOutcome outcome =
      groups_.run_on(context_, input_, placements_[at_], members, chosen.effort, transaction_);
  if (outcome.placed() < members) return std::nullopt;
  for (const MemberOutcome& member : outcome.members) plan.nodes.push_back(member.node);
  plan.place = transaction_.take_since(before);
  return plan;
}

void GroupSearch::say_why_not(NoVictimsFound& why_not) {
  why_not.without_victims = rooms_.has_victims() ? 0 : 1;
  if (!rooms_.has_victims()) return;
  rooms_.remove_all();
  const GroupOutcome outcome = groups_.run(context_, input_, transaction_);
  if (outcome.refusal && outcome.kind != GroupOutcome::Kind::Placed)
    why_not.still.emplace_back(group_words(*outcome.refusal), 1);
}

std::optional<GroupPreemptionPlan> GroupSearch::run(NoVictimsFound& why_not) {
  std::optional<Chosen> best;
  for (const Worth& bound : rooms_.has_victims() ? bounds() : std::vector<Worth>{}) {
    if (over() || (best && best->worth <= bound)) break;
    auto chosen = try_domain(bound.placement);
    if (chosen && (!best || chosen->worth < best->worth)) best = std::move(chosen);
  }
  std::optional<GroupPreemptionPlan> found;
  if (best) found = plan(*best);
  units_.restore();
  if (found) found->ended = over();
  if (!found) say_why_not(why_not);
  if (!found) why_not.ended = over();
  units_.restore();
  return found;
}

}  // namespace

std::optional<GroupPreemptionPlan> GroupVictimSearch::find(const SchedulingContext& context,
                                                           const GroupInput& input,
                                                           model::Ledger::Transaction& transaction,
                                                           NoVictimsFound& why_not) {
  return GroupSearch(groups_, context, input, transaction).run(why_not);
}

}  // namespace berth::placement
