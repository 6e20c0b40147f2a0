#include "placement/preemption/victim_units.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "client/group_tree.h"
#include "placement/preemption/disruptions.h"
#include "placement/preemption/lost_work.h"

namespace berth::placement {
namespace {

EntityKey key_of(const api::PodGroup& group) {
  return {group.meta.ns, group.meta.name, EntityKind::Group};
}
EntityKey key_of(const api::CompositePodGroup& composite) {
  return {composite.meta.ns, composite.meta.name, EntityKind::CompositeGroup};
}

// Decides about one unit after the other, first that it stays.
class Branching {
 public:
  Branching(RemovedUnits& best, const VictimUnits::UnitSet& order, const UnitQuestions& questions)
      : best_(best), order_(order), questions_(questions) {}

  // Of the units from `next` on; those decided before are in gone_ or stay. Without gone_ and all from `next`
  // on the preemptor fits.
  void decide_from(std::size_t next) {
    if (checks_left_ == 0 || !questions_.may_go_on()) return;
    const PreemptionCost cost = questions_.cost_of(gone_);
    if (!(cost < best_.cost)) return;
    if (next == order_.size()) {
      best_ = {gone_, cost};
      std::ranges::sort(best_.units);
      return;
    }
    VictimUnits::UnitSet without = gone_;
    without.insert(without.end(), order_.begin() + static_cast<std::ptrdiff_t>(next) + 1, order_.end());
    --checks_left_;
    if (questions_.fits_without(without)) decide_from(next + 1);
    gone_.push_back(order_[next]);
    decide_from(next + 1);
    gone_.pop_back();
  }

 private:
  RemovedUnits& best_;
  const VictimUnits::UnitSet& order_;
  const UnitQuestions& questions_;
  VictimUnits::UnitSet gone_;
  std::size_t checks_left_ = kBranchChecksMax;
};

}  // namespace

VictimUnits::VictimUnits(const SchedulingContext& context, Preemptor preemptor,
                         model::Ledger::Transaction& transaction)
    : context_(context),
      cluster_(context.cluster),
      preemptor_(preemptor),
      transaction_(transaction),
      base_(transaction.savepoint()) {}

void VictimUnits::remove(const Units& units, const UnitSet& removed) {
  transaction_.roll_back_to(base_);
  const model::GroupClaims claims = preemptor_.devices ? model::GroupClaims::Freed : model::GroupClaims::Kept;
  for (const std::size_t at : removed)
    if (units[at].claim.valid())
      transaction_.remove_claim(units[at].claim);
    else
      for (const PodId pod : units[at].pods) remove_victim(cluster_, pod, claims, transaction_);
}

std::vector<PodId> VictimUnits::members_of(const api::PodGroup& group) const {
  std::vector<PodId> members;
  for (const api::Pod* member : context_.view.pods_of_group(group.meta.ns, group.meta.name)) {
    const PodId id = cluster_.find_pod(member->meta.ns, member->meta.name);
    if (id.valid() && cluster_.ledger().node_of(id).valid()) members.push_back(id);
  }
  return members;
}

std::vector<PodId> VictimUnits::members_of(const api::CompositePodGroup& composite) const {
  std::vector<PodId> members;
  for (const api::PodGroup* group :
       client::groups_below(context_.view, composite.meta.ns, composite.meta.name)) {
    const std::vector<PodId> own = members_of(*group);
    members.insert(members.end(), own.begin(), own.end());
  }
  return members;
}

// Of the highest one of the group and those above it that goes as a whole; none: its pods go one by one.
std::optional<std::vector<PodId>> VictimUnits::evicted_with(const api::PodGroup& group) const {
  const auto as_one = [&](const auto& one) {
    return one.disruption_mode == "all" || whole_.contains(key_of(one));
  };
  const std::vector<const api::CompositePodGroup*> above = client::groups_above(context_.view, group);
  for (auto at = above.rbegin(); at != above.rend(); ++at)
    if (as_one(**at)) return members_of(**at);
  if (as_one(group)) return members_of(group);
  return std::nullopt;
}

// None: one of the pods cannot be evicted, so all of them stay.
std::optional<VictimUnit> VictimUnits::unit_of(std::vector<PodId> pods, std::int32_t priority,
                                               bool of_group) {
  VictimUnit unit;
  unit.priority = priority;
  unit.of_group = of_group;
  unit.ends_soon = true;
  for (const PodId id : pods) {
    const Evictability kind = evictability(cluster_, id, context_.now);
    if (kind == Evictability::BeingBound) waits_for_bindings_ = true;
    if (!gives_room(kind)) return std::nullopt;
    const api::Pod& pod = *cluster_.pod(id).live;
    unit.ends_soon = unit.ends_soon && kind == Evictability::EndsSoon;
    unit.tied = unit.tied || is_tied_to_node(context_.view, pod);
    if (kind == Evictability::Evictable) unit.lost += lost_work(context_, id);
    const Time started = start_of(pod);
    unit.started = unit.started.is_set() ? std::min(unit.started, started) : started;
  }
  unit.pods = std::move(pods);
  return unit;
}

// The pod, or its whole group or tree where that is disrupted as one.
void VictimUnits::add(PodId id, Units& units) {
  if (id == preemptor_.self || !seen_.insert(id).second || !cluster_.pod(id).live) return;
  const api::Pod& pod = *cluster_.pod(id).live;
  const std::int32_t priority = priority_of(context_.view, pod);
  if (priority >= preemptor_.priority) return;
  const api::PodGroup* group = context_.view.pod_groups.find(pod.meta.ns, pod.group);
  std::optional<std::vector<PodId>> together = group ? evicted_with(*group) : std::nullopt;
  const bool as_one = together.has_value();
  std::vector<PodId> pods = as_one ? *std::move(together) : std::vector<PodId>{id};
  seen_.insert(pods.begin(), pods.end());
  if (auto unit = unit_of(std::move(pods), priority, as_one)) units.push_back(*std::move(unit));
}

// Those that share a claim with a victim: its devices are free when the last of them is gone. And those that
// hold devices which several nodes reach.
void VictimUnits::add_sharing(Units& units) {
  const model::Ledger& ledger = cluster_.ledger();
  const auto add_users = [&](model::ClaimId claim) {
    if (units.size() >= preemptor_.units_max) return;
    const client::NamedKey& key = cluster_.claim(claim).key;
    for (const api::Pod* user : context_.view.pods_using_claim(key.ns, key.name))
      if (const PodId id = cluster_.find_pod(user->meta.ns, user->meta.name); ledger.node_of(id).valid())
        add(id, units);
  };
  for (const auto& [name, pool] : cluster_.shared_pools())
    for (const auto& [device_name, device] : cluster_.pool(pool).devices)
      for (const model::ClaimId claim : ledger.device(device).holders) add_users(claim);
  for (std::size_t i = 0; i < units.size(); ++i)
    for (const PodId pod : std::vector<PodId>(units[i].pods))
      for (const model::ClaimId claim : ledger.charge(pod).claims)
        if (ledger.users(claim) > 1) add_users(claim);
}

void VictimUnits::add_idle_claims(std::span<const NodeId> nodes, Units& units) {
  std::set<model::ClaimId> idle;
  const auto look = [&](model::PoolId pool) {
    for (const auto& [name, device] : cluster_.pool(pool).devices)
      for (const model::ClaimId claim : cluster_.ledger().device(device).holders)
        if (is_idle(context_, claim, preemptor_.priority)) idle.insert(claim);
  };
  for (const NodeId node : nodes)
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
void VictimUnits::order(Units& units) const {
  std::ranges::sort(units,
                    [&](const VictimUnit& a, const VictimUnit& b) { return more_important(cluster_, a, b); });
  if (units.size() > preemptor_.units_max)
    units.erase(units.begin(), units.end() - static_cast<std::ptrdiff_t>(preemptor_.units_max));
  Disruptions disruptions(context_.view);
  for (VictimUnit& unit : units)
    for (const PodId pod : unit.pods)
      if (!disruptions.count(*cluster_.pod(pod).live)) unit.refused = true;
  std::ranges::stable_sort(units, {}, turn_of);
}

VictimUnits::Units VictimUnits::on(std::span<const NodeId> nodes, std::span<const PodId> others) {
  Units units;
  seen_.clear();
  for (const NodeId node : nodes) {
    const std::vector<PodId> pods = cluster_.ledger().node(node).pods;
    for (const PodId pod : pods) add(pod, units);
  }
  for (const PodId pod : others) add(pod, units);
  if (preemptor_.devices) add_sharing(units);
  if (preemptor_.devices) add_idle_claims(nodes, units);
  order(units);
  return units;
}

VictimUnits::Units VictimUnits::sorted(const Units& units, const UnitSet& removed) const {
  Units victims;
  for (const std::size_t at : removed) victims.push_back(units[at]);
  std::ranges::sort(victims,
                    [&](const VictimUnit& a, const VictimUnit& b) { return more_important(cluster_, a, b); });
  return victims;
}

PreemptionCost VictimUnits::cost_of(const Units& units, const UnitSet& removed) const {
  PreemptionCost cost;
  Disruptions disruptions(context_.view);
  std::int64_t earliest = 0;
  for (const std::size_t at : removed) {
    const VictimUnit& unit = units[at];
    if (unit.ends_soon) continue;
    const auto pods = static_cast<std::uint32_t>(unit.pods.size());
    cost.tied += unit.tied ? 1 : 0;
    cost.victims += pods;
    cost.lost += unit.lost;
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

bool VictimUnits::has_minimum(const api::PodGroup& group, const Lost& lost) const {
  if (whole_.contains(key_of(group))) return false;
  const auto gone = lost.find({group.meta.ns, group.meta.name});
  const auto left =
      static_cast<std::int32_t>(members_of(group).size()) - (gone == lost.end() ? 0 : gone->second);
  return left >= std::max(1, group.minimum());
}

bool VictimUnits::has_minimum(const api::CompositePodGroup& composite, const Lost& lost,
                              std::size_t level) const {
  if (level == client::kTreeLevelsMax || whole_.contains(key_of(composite))) return false;
  const auto& [ns, name] = std::tie(composite.meta.ns, composite.meta.name);
  const auto groups =
      std::ranges::count_if(context_.view.groups_under(ns, name),
                            [&](const api::PodGroup* group) { return has_minimum(*group, lost); });
  const auto composites = std::ranges::count_if(
      context_.view.composites_under(ns, name),
      [&](const api::CompositePodGroup* child) { return has_minimum(*child, lost, level + 1); });
  return groups + composites >= composite.minimum();
}

bool VictimUnits::takes_broken_gangs_whole(const Units& units, const UnitSet& removed) {
  Lost lost;
  std::set<client::NamedKey> one_by_one;
  for (const std::size_t at : removed)
    for (const PodId id : units[at].pods)
      if (const api::Pod& pod = *cluster_.pod(id).live; !pod.group.empty()) {
        ++lost[{pod.meta.ns, pod.group}];
        if (!units[at].of_group) one_by_one.insert({pod.meta.ns, pod.group});
      }
  transaction_.roll_back_to(base_);
  const std::size_t before = whole_.size();
  for (const client::NamedKey& key : one_by_one) {
    const api::PodGroup* group = context_.view.pod_groups.find(key.ns, key.name);
    if (group && group->gang_min && !has_minimum(*group, lost)) whole_.insert(key_of(*group));
  }
  for (std::size_t level = 0; level + 1 < client::kTreeLevelsMax; ++level)
    for (const auto& [key, count] : lost) {
      const api::PodGroup* group = context_.view.pod_groups.find(key.ns, key.name);
      if (!group) continue;
      const std::vector<const api::CompositePodGroup*> above = client::groups_above(context_.view, *group);
      if (level >= above.size() || !above[level]->gang_min) continue;
      if (!has_minimum(*above[level], lost)) whole_.insert(key_of(*above[level]));
    }
  return whole_.size() > before;
}

void VictimUnits::name_victims(const Units& victims, VictimPlan& plan) const {
  Disruptions disruptions(context_.view);
  for (const VictimUnit& unit : victims) {
    plan.groups += unit.of_group ? 1 : 0;
    for (const PodId id : unit.pods) {
      const api::Pod& pod = *cluster_.pod(id).live;
      auto& to = pod.meta.deleting() ? plan.awaited : plan.victims;
      const bool reads_checkpoints = context_.victim_scoring == VictimScoring::LeastLostWork;
      to.push_back({id, pod.meta.uid, !disruptions.count(pod), unit.of_group,
                    reads_checkpoints && last_checkpoint(context_.view, pod, context_.now).invalid});
    }
  }
}

std::vector<model::ClaimId> VictimUnits::freed_claims() const {
  std::vector<model::ClaimId> claims;
  for (const model::Step& step : transaction_.steps())
    if (const auto* freed = std::get_if<model::RemoveClaim>(&step);
        freed && cluster_.claim(freed->claim).live)
      claims.push_back(freed->claim);
  return claims;
}

VictimUnits::UnitSet all_of(const VictimUnits::Units& units) {
  VictimUnits::UnitSet all(units.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

RemovedUnits cheapest_set(RemovedUnits best, const VictimUnits::UnitSet& order,
                          const UnitQuestions& questions) {
  if (order.size() <= kUnitsBranchedMax) Branching(best, order, questions).decide_from(0);
  return best;
}

VictimUnits::UnitSet reprieve(VictimUnits::UnitSet removed, const VictimUnits::UnitSet& order,
                              const std::function<bool(const VictimUnits::UnitSet&)>& fits_without,
                              const std::function<bool(const VictimUnits::UnitSet&)>& may_go_on) {
  std::vector<std::size_t> turn(order.size());  // of each unit
  for (std::size_t i = 0; i < order.size(); ++i) turn[order[i]] = i;
  bool over = false;  // asked once: nothing changes afterwards
  const std::function<void(std::size_t, std::size_t)> take_back = [&](std::size_t first, std::size_t last) {
    over = over || !may_go_on(removed);
    if (first == last || over) return;
    VictimUnits::UnitSet without = removed;
    std::erase_if(without, [&](std::size_t at) { return first <= turn[at] && turn[at] < last; });
    if (without.size() == removed.size()) return;
    if (fits_without(without)) {
      removed = std::move(without);
    } else if (last - first > 1) {
      const std::size_t middle = first + (last - first) / 2;
      take_back(first, middle);
      take_back(middle, last);
    }
  };
  take_back(0, order.size());
  for (std::size_t before = 0; !over && removed.size() > 1 && before != removed.size();) {
    before = removed.size();
    for (std::size_t at = 0; at < order.size(); ++at)
      if (std::ranges::binary_search(removed, order[at])) take_back(at, at + 1);
  }
  return removed;
}

}  // namespace berth::placement
