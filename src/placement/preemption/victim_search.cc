#include "placement/preemption/victim_search.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "placement/claims.h"
#include "placement/preemption/disruptions.h"

namespace berth::placement {
namespace {

using model::GroupClaims;

using Units = std::vector<VictimUnit>;
using UnitSet = std::vector<std::size_t>;  // positions, ascending

UnitSet all_of(const Units& units) {
  UnitSet all(units.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

// One decision's search.
class Search {
 public:
  Search(const PodCycle& pods, const VictimIndex& index, CycleState& state, const SchedulingContext& context,
         const api::Pod& pod, std::span<const NodeId> avoid, model::Ledger::Transaction& transaction)
      : pods_(pods),
        index_(index),
        state_(state),
        context_(context),
        cluster_(context.cluster),
        pod_(pod),
        self_(cluster_.find_pod(pod.meta.ns, pod.meta.name)),
        avoid_(avoid),
        transaction_(transaction),
        base_(transaction.savepoint()),
        for_devices_(asks_for_devices(pod)) {}

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
  std::optional<Chosen> try_node(const RefusedByNode& node, std::size_t at);
  Units units_on(NodeId node);
  void add_units(PodId pod, Units& units);
  void add_sharing(Units& units);
  void add_idle_claims(NodeId node, Units& units);
  std::optional<VictimUnit> unit_of(std::vector<PodId> pods, std::int32_t priority, bool of_group) const;
  std::vector<PodId> members_of(const api::PodGroup& group) const;
  bool takes_broken_gangs_whole(const Units& units, const UnitSet& removed);
  void order(Units& units) const;
  void remove(const Units& units, const UnitSet& removed);
  bool fits(NodeId node);
  bool fits_without(NodeId node, const Units& units, const UnitSet& removed);
  UnitSet reprieve(NodeId node, const Units& units);
  PreemptionCost cost_of(const Units& victims) const;
  void note_refusal(const RefusedByNode& node, const Units& units);
  NoVictimsFound why_not(std::span<const RefusedByNode> nodes) const;
  std::optional<PreemptionPlan> plan(const RefusedByNode& node, Chosen chosen);

  const PodCycle& pods_;
  const VictimIndex& index_;
  CycleState& state_;
  const SchedulingContext& context_;
  const model::Cluster& cluster_;
  const api::Pod& pod_;
  const PodId self_;
  const std::span<const NodeId> avoid_;
  model::Ledger::Transaction& transaction_;
  const model::Ledger::Transaction::Savepoint base_;
  const bool for_devices_;
  std::size_t checks_ = 0;
  std::set<PodId> seen_;                      // of the node that is tried
  std::set<client::NamedKey> whole_;          // the same: gangs that would have too few members left
  std::size_t without_victims_ = 0;           // nodes that were tried
  std::map<std::string, std::size_t> still_;  // nodes by why they refuse without all victims
};

VictimIndex::Demand Search::demand_of(const RefusedByNode& node) const {
  // Devices of a pool that several nodes reach may be held on another node.
  const bool shared = !cluster_.shared_pools().empty();
  return {pod_.priority, &cluster_.pod(self_).requests, node.by_devices && !shared,
          node.by_devices && shared};
}

// A heap, the lowest first.
std::vector<Search::Bound> Search::bounds(std::span<const RefusedByNode> nodes) const {
  std::vector<Bound> bounds;
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    if (!nodes[at].unschedulable && !nodes[at].by_devices) continue;
    if (std::ranges::find(avoid_, nodes[at].node) != avoid_.end()) continue;
    if (const auto cost = index_.bound(cluster_, nodes[at].node, demand_of(nodes[at])))
      bounds.push_back({*cost, at});
  }
  return bounds;
}

bool Search::fits(NodeId node) {
  ++checks_;
  pods_.begin(state_, context_, pod_, &transaction_);
  return pods_.prepare(state_) && pods_.choose(state_, {&node, 1}, avoid_).valid();
}

void Search::remove(const Units& units, const UnitSet& removed) {
  transaction_.roll_back_to(base_);
  for (const std::size_t at : removed)
    if (units[at].claim.valid())
      transaction_.remove_claim(units[at].claim);
    else
      for (const PodId pod : units[at].pods) remove_victim(cluster_, pod, transaction_);
}

bool Search::fits_without(NodeId node, const Units& units, const UnitSet& removed) {
  remove(units, removed);
  return fits(node);
}

std::vector<PodId> Search::members_of(const api::PodGroup& group) const {
  std::vector<PodId> members;
  for (const api::Pod* member : context_.view.pods_of_group(group.meta.ns, group.meta.name)) {
    const PodId id = cluster_.find_pod(member->meta.ns, member->meta.name);
    if (id.valid() && cluster_.ledger().node_of(id).valid()) members.push_back(id);
  }
  return members;
}

// None: one of the pods cannot be evicted, so all of them stay.
std::optional<VictimUnit> Search::unit_of(std::vector<PodId> pods, std::int32_t priority,
                                          bool of_group) const {
  VictimUnit unit;
  unit.priority = priority;
  unit.of_group = of_group;
  unit.ends_soon = true;
  for (const PodId id : pods) {
    const Evictability kind = evictability(cluster_, id, context_.now);
    if (kind == Evictability::Fixed) return std::nullopt;
    const api::Pod& pod = *cluster_.pod(id).live;
    unit.ends_soon = unit.ends_soon && kind == Evictability::EndsSoon;
    unit.tied = unit.tied || is_tied_to_node(context_.view, pod);
    const Time started = start_of(pod);
    unit.started = unit.started.is_set() ? std::min(unit.started, started) : started;
  }
  unit.pods = std::move(pods);
  return unit;
}

// The pod, or its whole group where that is disrupted as one.
void Search::add_units(PodId id, Units& units) {
  if (id == self_ || !seen_.insert(id).second || !cluster_.pod(id).live) return;
  const api::Pod& pod = *cluster_.pod(id).live;
  const std::int32_t priority = priority_of(context_.view, pod);
  if (priority >= pod_.priority) return;
  const api::PodGroup* group = context_.view.pod_groups.find(pod.meta.ns, pod.group);
  const bool as_one = group && (group->disruption_mode == "all" || whole_.contains({pod.meta.ns, pod.group}));
  std::vector<PodId> pods = as_one ? members_of(*group) : std::vector<PodId>{id};
  seen_.insert(pods.begin(), pods.end());
  if (auto unit = unit_of(std::move(pods), priority, as_one)) units.push_back(*std::move(unit));
}

// Those that share a claim with a victim: its devices are free when the last of them is gone. And those that
// hold devices which several nodes reach.
void Search::add_sharing(Units& units) {
  const model::Ledger& ledger = cluster_.ledger();
  const auto add_users = [&](model::ClaimId claim) {
    if (units.size() >= kVictimsTriedMax) return;
    const client::NamedKey& key = cluster_.claim(claim).key;
    for (const api::Pod* user : context_.view.pods_using_claim(key.ns, key.name))
      if (const PodId id = cluster_.find_pod(user->meta.ns, user->meta.name); ledger.node_of(id).valid())
        add_units(id, units);
  };
  for (const auto& [name, pool] : cluster_.shared_pools())
    for (const auto& [device_name, device] : cluster_.pool(pool).devices)
      for (const model::ClaimId claim : ledger.device(device).holders) add_users(claim);
  for (std::size_t i = 0; i < units.size(); ++i)
    for (const PodId pod : std::vector<PodId>(units[i].pods))
      for (const model::ClaimId claim : ledger.charge(pod).claims)
        if (ledger.users(claim) > 1) add_users(claim);
}

void Search::add_idle_claims(NodeId node, Units& units) {
  std::set<model::ClaimId> idle;
  const auto look = [&](model::PoolId pool) {
    for (const auto& [name, device] : cluster_.pool(pool).devices)
      for (const model::ClaimId claim : cluster_.ledger().device(device).holders)
        if (is_idle(cluster_, claim)) idle.insert(claim);
  };
  for (const model::PoolId pool : cluster_.pools_of(node)) look(pool);
  for (const auto& [name, pool] : cluster_.shared_pools()) look(pool);
  for (const model::ClaimId claim : idle) {
    VictimUnit unit;
    unit.ends_soon = true;
    unit.claim = claim;
    units.push_back(std::move(unit));
  }
}

// In the order in which they are taken back.
void Search::order(Units& units) const {
  std::ranges::sort(units,
                    [&](const VictimUnit& a, const VictimUnit& b) { return more_important(cluster_, a, b); });
  if (units.size() > kVictimsTriedMax)
    units.erase(units.begin(), units.end() - static_cast<std::ptrdiff_t>(kVictimsTriedMax));
  Disruptions disruptions(context_.view);
  for (VictimUnit& unit : units)
    for (const PodId pod : unit.pods)
      if (!disruptions.count(*cluster_.pod(pod).live)) unit.refused = true;
  const auto rank = [](const VictimUnit& unit) {
    return unit.ends_soon ? 3 : unit.tied ? 0 : unit.refused ? 1 : 2;
  };
  std::ranges::stable_sort(units, {}, rank);
}

Units Search::units_on(NodeId node) {
  Units units;
  seen_.clear();
  const std::vector<PodId> pods = cluster_.ledger().node(node).pods;
  for (const PodId pod : pods) add_units(pod, units);
  if (for_devices_) add_sharing(units);
  if (for_devices_) add_idle_claims(node, units);
  order(units);
  return units;
}

// Takes back as many units as the pod leaves room for, in their order: whole ranges at once, since where all
// of a range may stay, each may. Repeated while that takes one back: rules about domains may depend on
// others.
UnitSet Search::reprieve(NodeId node, const Units& units) {
  UnitSet removed = all_of(units);
  const std::function<void(std::size_t, std::size_t)> take_back = [&](std::size_t first, std::size_t last) {
    if (first == last || checks_ >= kPreemptionChecksMax) return;
    UnitSet without = removed;
    std::erase_if(without, [&](std::size_t at) { return first <= at && at < last; });
    if (fits_without(node, units, without)) {
      removed = std::move(without);
    } else if (last - first > 1) {
      const std::size_t middle = first + (last - first) / 2;
      take_back(first, middle);
      take_back(middle, last);
    }
  };
  take_back(0, units.size());
  for (std::size_t before = 0; removed.size() > 1 && before != removed.size();) {
    before = removed.size();
    for (const std::size_t at : UnitSet(removed)) take_back(at, at + 1);
  }
  return removed;
}

PreemptionCost Search::cost_of(const Units& victims) const {
  PreemptionCost cost;
  Disruptions disruptions(context_.view);
  std::int64_t earliest = 0;
  for (const VictimUnit& unit : victims) {
    if (unit.ends_soon) continue;
    const auto pods = static_cast<std::uint32_t>(unit.pods.size());
    cost.tied += unit.tied ? 1 : 0;
    cost.victims += pods;
    cost.sum += static_cast<__int128>(pods) * weight_of(unit.priority);
    for (const PodId pod : unit.pods) cost.refused += disruptions.count(*cluster_.pod(pod).live) ? 0 : 1;
    if (unit.priority < cost.top) continue;
    const std::int64_t started = unit.started.micros();
    earliest = unit.priority > cost.top ? started : std::min(earliest, started);
    cost.top = unit.priority;
  }
  cost.age = -earliest;
  return cost;
}

void Search::note_refusal(const RefusedByNode& node, const Units& units) {
  if (!node.unschedulable) return;
  if (units.empty()) ++without_victims_;
  if (units.empty()) return;
  for (std::size_t i = 0; i < state_.diagnosis.size(); ++i)
    for (const ReasonId reason : state_.diagnosis.row(i).reasons)
      ++still_[state_.diagnosis.reason(reason).text];
}

// A gang may lose the members that it has beyond its minimum; where it would lose more, it goes as a whole.
// True if that changes the units.
bool Search::takes_broken_gangs_whole(const Units& units, const UnitSet& removed) {
  std::map<client::NamedKey, std::int32_t> lost;
  for (const std::size_t at : removed)
    for (const PodId id : units[at].pods)
      if (const api::Pod& pod = *cluster_.pod(id).live; !units[at].of_group && !pod.group.empty())
        ++lost[{pod.meta.ns, pod.group}];
  bool changed = false;
  transaction_.roll_back_to(base_);
  for (const auto& [key, count] : lost) {
    const api::PodGroup* group = context_.view.pod_groups.find(key.ns, key.name);
    if (!group || !group->gang_min) continue;
    const auto scheduled = static_cast<std::int32_t>(members_of(*group).size());
    if (scheduled - count < *group->gang_min) changed = whole_.insert(key).second || changed;
  }
  return changed;
}

std::optional<Search::Chosen> Search::try_node(const RefusedByNode& node, std::size_t at) {
  whole_.clear();
  Units units;
  UnitSet removed;
  do {
    transaction_.roll_back_to(base_);
    units = units_on(node.node);
    if (units.empty() || !fits_without(node.node, units, all_of(units))) {
      note_refusal(node, units);
      return std::nullopt;
    }
    removed = reprieve(node.node, units);
  } while (takes_broken_gangs_whole(units, removed));
  if (removed.empty()) return std::nullopt;
  Chosen chosen{{}, at, {}};
  for (const std::size_t victim : removed) chosen.victims.push_back(units[victim]);
  std::ranges::sort(chosen.victims,
                    [&](const VictimUnit& a, const VictimUnit& b) { return more_important(cluster_, a, b); });
  chosen.cost = cost_of(chosen.victims);
  return chosen;
}

std::optional<PreemptionPlan> Search::plan(const RefusedByNode& node, Chosen chosen) {
  PreemptionPlan plan;
  plan.node = node.node;
  plan.cost = chosen.cost;
  Disruptions disruptions(context_.view);
  for (const VictimUnit& unit : chosen.victims)
    for (const PodId id : unit.pods) {
      const api::Pod& pod = *cluster_.pod(id).live;
      auto& to = pod.meta.deleting() ? plan.awaited : plan.victims;
      to.push_back({id, pod.meta.uid, !disruptions.count(pod), unit.of_group});
    }
  if (!fits_without(node.node, chosen.victims, all_of(chosen.victims))) return std::nullopt;
  for (const model::Step& step : transaction_.steps())
    if (const auto* freed = std::get_if<model::RemoveClaim>(&step);
        freed && cluster_.claim(freed->claim).live)
      plan.claims.push_back(freed->claim);
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

std::optional<PreemptionPlan> Search::run(std::span<const RefusedByNode> nodes, NoVictimsFound& why) {
  const auto later = [](const Bound& a, const Bound& b) {
    return a.cost != b.cost ? a.cost > b.cost : a.at > b.at;
  };
  std::vector<Bound> heap = bounds(nodes);
  std::ranges::make_heap(heap, later);
  std::optional<Chosen> best;
  while (!heap.empty() && checks_ < kPreemptionChecksMax) {
    std::ranges::pop_heap(heap, later);
    const Bound next = heap.back();
    heap.pop_back();
    if (best && later(next, {best->cost, best->at})) break;
    auto chosen = try_node(nodes[next.at], next.at);
    if (chosen && (!best || later({best->cost, best->at}, {chosen->cost, chosen->at})))
      best = std::move(chosen);
  }
  std::optional<PreemptionPlan> plan;
  const bool ended = checks_ >= kPreemptionChecksMax;
  if (best) {
    const RefusedByNode& node = nodes[best->at];
    plan = this->plan(node, *std::move(best));
  }
  transaction_.roll_back_to(base_);
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
  return Search(pods_, index_, state_, context, pod, avoid, transaction).run(nodes, why_not);
}

}  // namespace berth::placement
