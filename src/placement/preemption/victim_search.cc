#include "placement/preemption/victim_search.h"

#include <algorithm>
#include <map>

#include "placement/claims.h"
#include "placement/preemption/far_victims.h"

namespace berth::placement {
namespace {

using Units = VictimUnits::Units;
using UnitSet = VictimUnits::UnitSet;

// One decision's search.
class Search {
 public:
  // `returning`: for victims that come back; null: nobody asks about those.
  Search(const PodCycle& pods, const VictimIndex& index, CycleState& state, CycleState* returning,
         const SchedulingContext& context, const api::Pod& pod, std::span<const NodeId> avoid,
         model::Ledger::Transaction& transaction)
      : pods_(pods),
        index_(index),
        state_(state),
        returning_(returning),
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
  std::optional<Chosen> try_node(const RefusedByNode& node, std::size_t at);
  std::uint32_t refused_later(NodeId node, const Units& victims);
  std::uint32_t refused_by_return(PodId victim);
  bool fits(NodeId node);
  bool fits_without(NodeId node, const Units& units, const UnitSet& removed);
  void note_refusal(const RefusedByNode& node, const Units& units);
  NoVictimsFound why_not(std::span<const RefusedByNode> nodes) const;
  std::optional<PreemptionPlan> plan(const RefusedByNode& node, Chosen chosen);

  const PodCycle& pods_;
  const VictimIndex& index_;
  CycleState& state_;
  CycleState* const returning_;
  const SchedulingContext& context_;
  const model::Cluster& cluster_;
  const api::Pod& pod_;
  const PodId self_;
  const std::span<const NodeId> avoid_;
  model::Ledger::Transaction& transaction_;
  VictimUnits units_;
  model::ResourceAmounts charges_;  // that nodes must have, whatever devices serve and the profile ignores
  bool far_ = false;                // victims on other nodes than the pod's are tried, too
  std::size_t checks_ = 0, returns_ = 0;
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
    if (far_)
      bounds.push_back({{}, at});
    else if (const auto cost = index_.bound(cluster_, nodes[at].node, demand_of(nodes[at])))
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

std::optional<Search::Chosen> Search::try_node(const RefusedByNode& node, std::size_t at) {
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
    removed = reprieve(
        all_of(units), all_of(units),
        [&](const UnitSet& without) { return fits_without(node.node, units, without); },
        [&](const UnitSet&) { return checks_ < kPreemptionChecksMax; });
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

// Evictions that budgets refuse, by the victims on the node when they come back, once the pod is there.
std::uint32_t Search::refused_later(NodeId node, const Units& victims) {
  if (!returning_ || context_.view.disruption_budgets.all().empty()) return 0;
  std::uint32_t refused = 0;
  if (fits_without(node, victims, all_of(victims)) && pods_.reserve(state_, node, transaction_))
    for (const VictimUnit& unit : victims)
      if (!unit.of_group && !unit.ends_soon && !unit.pods.empty())
        refused += refused_by_return(unit.pods.front());
  units_.restore();
  return refused;
}

// A pod without a controller does not come back, one with devices gets other claims. One that fits takes its
// place, for those that come after it.
std::uint32_t Search::refused_by_return(PodId victim) {
  const api::Pod& pod = *cluster_.pod(victim).live;
  const bool evicts = pod.meta.controller() && pod.group.empty() && !asks_for_devices(pod) &&
                      pod.preemption_policy != "Never" && index_.lowest() < pod.priority;
  if (!evicts || returns_++ >= kReturnsMax) return 0;
  pods_.begin(*returning_, context_, pod, &transaction_);
  if (!pods_.prepare(*returning_)) return 0;
  std::vector<NodeId> nodes;
  for (const auto& [name, node] : cluster_.live_nodes()) nodes.push_back(node);
  if (const NodeId node = pods_.choose(*returning_, nodes, {}); node.valid()) {
    (void)pods_.reserve(*returning_, node, transaction_);
    return 0;
  }
  std::vector<RefusedByNode> refused;
  for (std::size_t i = 0; i < returning_->diagnosis.size(); ++i) {
    const Diagnosis::Row row = returning_->diagnosis.row(i);
    refused.push_back({row.node, row.refusal == FilterStatus::Unschedulable});
  }
  NoVictimsFound why_not;
  const auto plan =
      Search(pods_, index_, *returning_, nullptr, context_, pod, {}, transaction_).run(refused, why_not);
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
    const Bound next = heap.back();
    heap.pop_back();
    if (best && later(next, {best->cost, best->at})) break;
    auto chosen = try_node(nodes[next.at], next.at);
    const auto is_better = [&] {
      return chosen && (!best || later({best->cost, best->at}, {chosen->cost, chosen->at}));
    };
    if (!is_better()) continue;
    chosen->cost.refused_later = refused_later(nodes[next.at].node, chosen->victims);
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
  return plan;
}

}  // namespace

bool VictimSearch::may_find(const SchedulingContext& context, std::int32_t priority) {
  index_.catch_up(context);
  return index_.lowest() < priority;
}

std::optional<PreemptionPlan> VictimSearch::find(const SchedulingContext& context, const api::Pod& pod,
                                                 std::span<const RefusedByNode> nodes,
                                                 std::span<const NodeId> avoid,
                                                 model::Ledger::Transaction& transaction,
                                                 NoVictimsFound& why_not) {
  return Search(pods_, index_, state_, &returning_, context, pod, avoid, transaction).run(nodes, why_not);
}

}  // namespace berth::placement
