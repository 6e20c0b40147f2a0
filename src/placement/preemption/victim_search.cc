#include "placement/preemption/victim_search.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "placement/claims.h"
#include "placement/preemption/far_victims.h"

namespace berth::placement {
namespace {

using Units = VictimUnits::Units;
using UnitSet = VictimUnits::UnitSet;

// Victims that come back.
class Returns {
 public:
  Returns(const PodCycle& pods, const VictimIndex& index, SignatureCache& nodes, CycleState& state,
          const SchedulingContext& context, ReturnBudget& budget, model::Ledger::Transaction& transaction)
      : pods_(pods),
        index_(index),
        nodes_(nodes),
        state_(state),
        context_(context),
        budget_(budget),
        transaction_(transaction) {}

  const ReturnBudget& budget() const { return budget_; }
  VictimReturns of(const Units& victims);
  // Of each unit, whether it has room by itself; of kReturnsMax units, the last ones.
  std::vector<bool> have_room(const Units& units);
  bool fits_again(const VictimUnit& unit);

 private:
  std::optional<api::Pod> coming_back(const VictimUnit& unit) const;
  bool place(const api::Pod& pod, std::span<const NodeId> avoid = {});
  std::uint32_t refused_by(const api::Pod& pod);
  bool has_few_nodes(const api::Pod& pod);

  const PodCycle& pods_;
  const VictimIndex& index_;
  SignatureCache& nodes_;
  CycleState& state_;
  const SchedulingContext& context_;
  ReturnBudget& budget_;
  model::Ledger::Transaction& transaction_;
};

// One decision's search.
class Search {
 public:
  // `returns`: null: nobody asks about victims that come back.
  Search(const PodCycle& pods, const VictimIndex& index, CycleState& state, Returns* returns,
         const SchedulingContext& context, const api::Pod& pod, std::span<const NodeId> avoid,
         model::Ledger::Transaction& transaction)
      : pods_(pods),
        index_(index),
        state_(state),
        returns_(returns),
        context_(context),
        cluster_(context.cluster),
        pod_(pod),
        self_(cluster_.find_pod(pod.meta.ns, pod.meta.name)),
        avoid_(avoid),
        transaction_(transaction),
        units_(context, {pod.priority, self_, asks_for_devices(pod)}, transaction) {
    pods_.begin(state_, context_, pod_, &transaction_);
    const api::Pod* one = &pod_;
    charges_ = state_.plugins->fit_counter->demand(cluster_, {&one, 1}).requests;
  }

  std::optional<PreemptionPlan> run(std::span<const RefusedByNode> nodes, NoVictimsFound& why_not);

 private:
  struct Bound {
    PreemptionCost cost;
    std::size_t at;  // in the list of nodes
  };
  struct Chosen {
    PreemptionCost cost;
    std::size_t at;
    Units victims;  // the most important first
  };

  VictimIndex::Demand demand_of(const RefusedByNode& node) const;
  std::vector<Bound> bounds(std::span<const RefusedByNode> nodes) const;
  std::optional<Chosen> best_of(std::span<const RefusedByNode> nodes);
  enum class TakenBackLast : std::uint8_t { LeastImportant, MovesAmongEquals };
  std::optional<Chosen> try_node(const RefusedByNode& node, std::size_t at, TakenBackLast last);
  void prefer_moves(const RefusedByNode& node, Chosen& best);
  UnitSet moves_last(NodeId node, const Units& units);
  bool may_ask() const { return returns_ && !returns_->budget().over(); }
  void ask_about_returns(NodeId node, Chosen& chosen);
  bool counts_lost_work() const { return context_.victim_scoring == VictimScoring::LeastLostWork; }
  UnitSet minimal_set(NodeId node, const Units& units, const UnitSet& order);
  bool fits(NodeId node);
  bool fits_without(NodeId node, const Units& units, const UnitSet& removed);
  void note_refusal(const RefusedByNode& node, const Units& units);
  NoVictimsFound why_not(std::span<const RefusedByNode> nodes) const;
  std::optional<PreemptionPlan> plan(const RefusedByNode& node, Chosen chosen);

  const PodCycle& pods_;
  const VictimIndex& index_;
  CycleState& state_;
  Returns* const returns_;
  const SchedulingContext& context_;
  const model::Cluster& cluster_;
  const api::Pod& pod_;
  const PodId self_;
  const std::span<const NodeId> avoid_;
  model::Ledger::Transaction& transaction_;
  VictimUnits units_;
  model::ResourceAmounts charges_;  // that nodes must have, whatever devices serve and the profile ignores
  bool far_ = false;                // victims on other nodes than the pod's are tried, too
  std::size_t checks_ = 0;
  std::size_t without_victims_ = 0;           // nodes that were tried
  std::map<std::string, std::size_t> still_;  // nodes by why they refuse without all victims
};

VictimIndex::Demand Search::demand_of(const RefusedByNode& node) const {
  // Devices of a pool that several nodes reach may be held on another node.
  const bool shared = !cluster_.shared_pools().empty();
  return {pod_.priority, &charges_, node.by_devices && !shared, node.by_devices && shared};
}

// A heap, the lowest first.
std::vector<Search::Bound> Search::bounds(std::span<const RefusedByNode> nodes) const {
  std::vector<Bound> bounds;
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    if (!nodes[at].unschedulable && !nodes[at].by_devices) continue;
    if (std::ranges::binary_search(avoid_, nodes[at].node)) continue;
    const VictimIndex::Demand demand = demand_of(nodes[at]);
    std::optional<PreemptionCost> cost;
    if (far_)
      cost.emplace();
    else
      cost = index_.bound(cluster_, nodes[at].node, demand);
    if (!cost) continue;
    if (!far_ && counts_lost_work())
      cost->lost = index_.least_lost(context_, nodes[at].node, demand, cost->top);
    bounds.push_back({*cost, at});
  }
  return bounds;
}

bool Search::fits(NodeId node) {
  ++checks_;
  pods_.begin(state_, context_, pod_, &transaction_);
  return pods_.prepare(state_) && pods_.choose(state_, {&node, 1}, avoid_).valid();
}

bool Search::fits_without(NodeId node, const Units& units, const UnitSet& removed) {
  units_.remove(units, removed);
  return fits(node);
}

void Search::note_refusal(const RefusedByNode& node, const Units& units) {
  if (!node.unschedulable || far_) return;
  if (units.empty()) ++without_victims_;
  if (units.empty()) return;
  for (std::size_t i = 0; i < state_.diagnosis.size(); ++i)
    for (const ReasonId reason : state_.diagnosis.row(i).reasons)
      ++still_[state_.diagnosis.reason(reason).text];
}

// As kube-scheduler's; where lost work counts, and there are few units, the cheapest.
UnitSet Search::minimal_set(NodeId node, const Units& units, const UnitSet& order) {
  const UnitQuestions questions{[&](const UnitSet& without) { return fits_without(node, units, without); },
                                [&](const UnitSet& gone) { return units_.cost_of(units, gone); },
                                [&] { return checks_ < kPreemptionChecksMax; }};
  UnitSet removed = reprieve(all_of(units), order, questions.fits_without,
                             [&](const UnitSet&) { return questions.may_go_on(); });
  if (!counts_lost_work()) return removed;
  const PreemptionCost cost = units_.cost_of(units, removed);
  return cheapest_set({std::move(removed), cost}, order, questions).units;
}

// After a check without all units: in the order in which they are taken back. Units that differ in their
// start or size alone are equal here.
UnitSet Search::moves_last(NodeId node, const Units& units) {
  std::vector<bool> moves(units.size());
  if (pods_.reserve(state_, node, transaction_)) moves = returns_->have_room(units);
  units_.restore();
  UnitSet order = all_of(units);
  std::ranges::stable_sort(order, {}, [&](std::size_t at) {
    const VictimUnit& unit = units[at];
    return std::tuple(turn_of(unit), -std::int64_t{unit.priority}, -unit.lost, bool{moves[at]});
  });
  return order;
}

// On the chosen node, pods that fit elsewhere go rather than others of their priority, if that costs less.
void Search::prefer_moves(const RefusedByNode& node, Chosen& best) {
  if (!may_ask() || best.cost.without_room == 0) return;
  auto chosen = try_node(node, best.at, TakenBackLast::MovesAmongEquals);
  if (!chosen) return;
  ask_about_returns(node.node, *chosen);
  if (chosen->cost < best.cost) best = *std::move(chosen);
}

std::optional<Search::Chosen> Search::try_node(const RefusedByNode& node, std::size_t at,
                                               TakenBackLast last) {
  units_.forget_broken_gangs();
  Units units;
  UnitSet removed;
  do {
    units_.restore();
    const std::vector<PodId> others =
        far_ ? far_victims(pods_, state_, context_, pod_, node.node, transaction_) : std::vector<PodId>{};
    units = units_.on({&node.node, 1}, others);
    if (units.empty() || !fits_without(node.node, units, all_of(units))) {
      note_refusal(node, units);
      return std::nullopt;
    }
    const bool moves = last == TakenBackLast::MovesAmongEquals;
    removed = minimal_set(node.node, units, moves ? moves_last(node.node, units) : all_of(units));
  } while (units_.takes_broken_gangs_whole(units, removed));
  if (removed.empty()) return std::nullopt;
  Chosen chosen{{}, at, units_.sorted(units, removed)};
  chosen.cost = units_.cost_of(units, removed);
  return chosen;
}

std::optional<PreemptionPlan> Search::plan(const RefusedByNode& node, Chosen chosen) {
  PreemptionPlan plan;
  plan.node = node.node;
  plan.cost = chosen.cost;
  units_.name_victims(chosen.victims, plan);
  if (!fits_without(node.node, chosen.victims, all_of(chosen.victims))) return std::nullopt;
  plan.claims = units_.freed_claims();
  const auto before = transaction_.savepoint();
  if (!pods_.reserve(state_, node.node, transaction_)) return std::nullopt;
  plan.place = transaction_.take_since(before);
  return plan;
}

NoVictimsFound Search::why_not(std::span<const RefusedByNode> nodes) const {
  NoVictimsFound found{without_victims_};
  std::map<std::string, std::size_t> still = still_;
  for (const RefusedByNode& node : nodes) {
    if (!node.unschedulable) continue;
    const VictimIndex::Demand demand = demand_of(node);
    if (!index_.has_victims(node.node, demand.priority))
      ++found.without_victims;
    else if (!index_.bound(cluster_, node.node, demand))
      for (const model::ResourceId resource : index_.still_lacking(cluster_, node.node, demand))
        ++still[resource == model::kPodSlots ? std::string(reason_row("TooManyPods").text)
                                             : with_subjects(reason_row("InsufficientResource").text,
                                                             cluster_.resources().text(resource))];
  }
  found.still.assign(still.begin(), still.end());
  return found;
}

// What the returns of the victims add to their cost, once the pod is on the node.
void Search::ask_about_returns(NodeId node, Chosen& chosen) {
  VictimReturns returns;
  if (fits_without(node, chosen.victims, all_of(chosen.victims)) && pods_.reserve(state_, node, transaction_))
    returns = returns_->of(chosen.victims);
  add_returns(returns, chosen.cost);
  units_.restore();
}

// A pod without a controller does not come back, and members of groups come back together.
std::optional<api::Pod> Returns::coming_back(const VictimUnit& unit) const {
  if (unit.of_group || unit.ends_soon || unit.pods.empty()) return std::nullopt;
  const api::Pod& gone = *context_.cluster.pod(unit.pods.front()).live;
  if (!gone.meta.controller() || !gone.group.empty()) return std::nullopt;
  std::optional<api::Pod> pod = gone;
  pod->extended_claim.clear();
  return pod;
}

std::vector<bool> Returns::have_room(const Units& units) {
  std::vector<bool> have(units.size());
  std::size_t tried = 0;
  for (std::size_t at = units.size(); at-- > 0 && tried < kReturnsMax;) {
    const std::optional<api::Pod> pod = coming_back(units[at]);
    if (!pod) continue;
    ++tried;
    const auto before = transaction_.savepoint();
    have[at] = place(*pod);
    transaction_.roll_back_to(before);
  }
  return have;
}

VictimReturns Returns::of(const Units& victims) {
  VictimReturns returns;
  std::size_t tried = 0;
  for (const VictimUnit& unit : victims) {
    const std::optional<api::Pod> pod = coming_back(unit);
    if (!pod) continue;
    if (tried++ == kReturnsMax) break;
    if (place(*pod))
      ++returns.placed;
    else
      returns.refused += refused_by(*pod);
  }
  budget_.sets -= std::min(budget_.sets, returns.placed > 0 ? 1 : kVainReturnSets);
  return returns;
}

// Its own devices count as free for it, but not on its node.
bool Returns::fits_again(const VictimUnit& unit) {
  const std::optional<api::Pod> pod = coming_back(unit);
  if (!pod) return false;
  if (!asks_for_devices(*pod)) {
    pods_.begin(state_, context_, *pod, &transaction_);
    return nodes_.choose(state_, {}).valid();
  }
  const auto before = transaction_.savepoint();
  const NodeId own = context_.cluster.ledger().node_of(unit.pods.front());
  const std::span<const NodeId> avoid(&own, own.valid() ? 1 : 0);
  if (own.valid()) remove_victim(context_.cluster, unit.pods.front(), model::GroupClaims::Kept, transaction_);
  const bool fits = place(*pod, avoid);
  transaction_.roll_back_to(before);
  return fits;
}

// Devices are sought on each of them.
bool Returns::has_few_nodes(const api::Pod& pod) {
  pods_.begin(state_, context_, pod, &transaction_);
  if (!pods_.prepare(state_)) return true;
  state_.candidates.clear();
  for (const auto& [name, node] : context_.cluster.live_nodes()) state_.candidates.push_back(node);
  pods_.filter_only(state_);
  return state_.candidates.size() <= kReturnNodesMax;
}

// One that fits takes its place, for those that come after it.
bool Returns::place(const api::Pod& pod, std::span<const NodeId> avoid) {
  if (asks_for_devices(pod) && !has_few_nodes(pod)) return true;
  pods_.begin(state_, context_, pod, &transaction_);
  const NodeId node = nodes_.choose(state_, avoid);
  return node.valid() && pods_.reserve(state_, node, transaction_).has_value();
}

// Of a pod that place() found no node for.
std::uint32_t Returns::refused_by(const api::Pod& pod) {
  const bool evicts = !context_.view.disruption_budgets.all().empty() && pod.preemption_policy != "Never" &&
                      index_.lowest() < pod.priority;
  if (!evicts || budget_.searches == 0) return 0;
  --budget_.searches;
  const std::vector<RefusedByNode> refused = nodes_.refused(state_);
  NoVictimsFound why_not;
  const auto plan =
      Search(pods_, index_, state_, nullptr, context_, pod, {}, transaction_).run(refused, why_not);
  return plan ? plan->cost.refused : 0;
}

std::optional<Search::Chosen> Search::best_of(std::span<const RefusedByNode> nodes) {
  const auto later = [](const Bound& a, const Bound& b) {
    return a.cost != b.cost ? a.cost > b.cost : a.at > b.at;
  };
  std::vector<Bound> heap = bounds(nodes);
  std::ranges::make_heap(heap, later);
  std::optional<Chosen> best;
  std::size_t tried = 0;
  while (!heap.empty() && checks_ < kPreemptionChecksMax && !(far_ && tried++ == kFarNodesMax)) {
    std::ranges::pop_heap(heap, later);
    Bound next = heap.back();
    heap.pop_back();
    if (best && returns_) assume_no_better(returns_->budget(), best->cost, next.cost);
    if (best && later(next, {best->cost, best->at})) break;
    auto chosen = try_node(nodes[next.at], next.at, TakenBackLast::LeastImportant);
    if (best && returns_ && chosen) assume_no_better(returns_->budget(), best->cost, chosen->cost);
    const auto is_better = [&] {
      return chosen && (!best || later({best->cost, best->at}, {chosen->cost, chosen->at}));
    };
    if (!is_better()) continue;
    if (may_ask()) ask_about_returns(nodes[next.at].node, *chosen);
    if (is_better()) best = std::move(chosen);
  }
  return best;
}

// Victims on the node itself first: where they are enough, nobody elsewhere goes.
std::optional<PreemptionPlan> Search::run(std::span<const RefusedByNode> nodes, NoVictimsFound& why) {
  std::optional<Chosen> best = best_of(nodes);
  if (!best && may_have_far_victims(pods_, state_, context_, pod_, transaction_)) {
    far_ = true;
    best = best_of(nodes);
  }
  if (best) prefer_moves(nodes[best->at], *best);
  std::optional<PreemptionPlan> plan;
  const bool ended = checks_ >= kPreemptionChecksMax;
  if (best) {
    const RefusedByNode& node = nodes[best->at];
    plan = this->plan(node, *std::move(best));
  }
  units_.restore();
  if (plan) plan->ended = ended;
  if (!plan) why = why_not(nodes);
  if (!plan) why.ended = ended;
  if (!plan) why.waits_for_bindings = units_.waits_for_bindings();
  return plan;
}

}  // namespace

void add_returns(const VictimReturns& returns, PreemptionCost& cost) {
  cost.refused_later = returns.refused;
  cost.without_room = cost.victims - returns.placed;
}

void assume_no_better(const ReturnBudget& budget, const PreemptionCost& best, PreemptionCost& cost) {
  if (!budget.over()) return;
  cost.refused_later = best.refused_later;
  cost.without_room = best.without_room;
}

bool VictimSearch::may_find(const SchedulingContext& context, std::int32_t priority) {
  index_.catch_up(context);
  return index_.lowest() < priority;
}

std::optional<PreemptionPlan> VictimSearch::find(const SchedulingContext& context, const api::Pod& pod,
                                                 std::span<const RefusedByNode> nodes,
                                                 std::span<const NodeId> avoid,
                                                 model::Ledger::Transaction& transaction,
                                                 NoVictimsFound& why_not) {
  ReturnBudget budget = return_budget();
  Returns returns(pods_, index_, return_nodes_, returning_, context, budget, transaction);
  return Search(pods_, index_, state_, &returns, context, pod, avoid, transaction).run(nodes, why_not);
}

// Without any victim that may come back nothing is to be asked.
ReturnBudget VictimSearch::return_budget() const {
  return {.sets = index_.any_returns() ? kReturnSetsMax : 0};
}

VictimReturns VictimSearch::returns_of(const SchedulingContext& context, const VictimUnits::Units& victims,
                                       ReturnBudget& budget, model::Ledger::Transaction& transaction) {
  return Returns(pods_, index_, return_nodes_, returning_, context, budget, transaction).of(victims);
}

bool VictimSearch::fits_again(const SchedulingContext& context, const VictimUnit& unit,
                              model::Ledger::Transaction& transaction) {
  ReturnBudget budget;
  return Returns(pods_, index_, return_nodes_, returning_, context, budget, transaction).fits_again(unit);
}

}  // namespace berth::placement
