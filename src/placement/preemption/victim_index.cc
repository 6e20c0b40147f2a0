#include "placement/preemption/victim_index.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "placement/free_resources.h"
#include "placement/preemption/disruptions.h"
#include "placement/preemption/lost_work.h"

namespace berth::placement {
namespace {

// Whether the pod holds a device, alone or with others.
bool holds_devices(const model::Ledger& ledger, const model::PodCharge& charge) {
  return std::ranges::any_of(charge.claims, [&](model::ClaimId claim) {
    return ledger.reservation(claim) && !ledger.reservation(claim)->devices.empty();
  });
}

// What the node lacks when nobody leaves.
model::ResourceAmounts lacking_of(const model::Cluster& cluster, NodeId node,
                                  const model::ResourceAmounts& charges) {
  const model::NodeRow& row = cluster.node(node);
  const model::NodeUse& use = cluster.ledger().node(node);
  model::ResourceAmounts lacking;
  for (const model::ResourceAmount& asked : charges) {
    // One that the node does not have may be served by devices; a GPU is free when its last share is.
    if (!model::is_asked(asked.resource) || row.allocatable[asked.resource] == 0) continue;
    if (asked.resource == model::kGpu && !use.gpu_groups.empty()) continue;
    if (const std::int64_t free = free_of(row, use, asked.resource); asked.amount > free)
      lacking.push_back({asked.resource, asked.amount - free});
  }
  return lacking;
}

}  // namespace

// False: none has changed.
bool VictimIndex::reads_budgets(const client::View& view) {
  const auto& all = view.disruption_budgets.all();
  const auto is_known = [](const auto& known, const auto& entry) { return known == entry.second; };
  if (std::ranges::equal(budgets_, all, is_known)) return false;
  budgets_.clear();
  for (const auto& [name, budget] : all) budgets_.push_back(budget);
  return true;
}

void VictimIndex::catch_up(const SchedulingContext& context) {
  const std::uint64_t protection =
      reads_budgets(context.view) ? protection_digest(context.view) : protection_;
  changed_.clear();
  const bool known = context.cluster.changed_since(seen_, changed_) != model::Cluster::ChangeScope::Unknown;
  seen_ = context.cluster.ledger().changes().end();
  rows_.resize(context.cluster.nodes().size());
  if (fresh_ || !known || protection != protection_) {
    for (std::uint32_t node = 0; node < rows_.size(); ++node) read(context, NodeId(node));
  } else {
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    for (const NodeId node : changed_) read(context, node);
  }
  fresh_ = false;
  protection_ = protection;
}

void VictimIndex::add(Levels& levels, std::int64_t priority, const model::PodCharge& charge, bool devices,
                      Time started) {
  auto at = std::ranges::lower_bound(levels, priority, {}, &Level::priority);
  if (at == levels.end() || at->priority != priority) at = levels.insert(at, Level{priority});
  ++at->pods;
  for (const model::ResourceAmount& one : charge.requests) {
    at->freed.at(one.resource) += one.amount;
    at->largest.at(one.resource) = std::max(at->largest[one.resource], one.amount);
  }
  at->devices = at->devices || devices;
  at->latest = std::max(at->latest, started);
}

void VictimIndex::sum_up(Levels& levels) {
  for (std::size_t i = 1; i < levels.size(); ++i) {
    Level& level = levels[i];
    const Level& below = levels[i - 1];
    level.pods += below.pods;
    level.devices = level.devices || below.devices;
    for (std::uint32_t r = 0; r < below.freed.size(); ++r) {
      const model::ResourceId resource(r);
      if (below.freed[resource] == 0) continue;
      level.freed.at(resource) += below.freed[resource];
      level.largest.at(resource) = std::max(level.largest[resource], below.largest[resource]);
    }
  }
}

void VictimIndex::read(const SchedulingContext& context, NodeId node) {
  const model::Cluster& cluster = context.cluster;
  const model::Ledger& ledger = cluster.ledger();
  Row row;
  for (const PodId id : ledger.node(node).pods) {
    const Evictability kind = evictability(cluster, id, {});
    // One that is being bound counts: its charge, and so its node, does not change when it is bound.
    if (kind == Evictability::Fixed) continue;
    const api::Pod& pod = *cluster.pod(id).live;
    const model::PodCharge& charge = ledger.charge(id);
    const std::int64_t priority =
        kind == Evictability::EndsSoon ? PreemptionCost::kNobody : priority_of(context.view, pod);
    const bool devices = holds_devices(ledger, charge);
    const Time started = start_of(pod);
    row.returns |= kind != Evictability::EndsSoon && pod.meta.controller() && pod.group.empty();
    add(row.all, priority, charge, devices, started);
    if (kind == Evictability::EndsSoon ||
        (!is_tied_to_node(context.view, pod) && !is_protected(context.view, pod)))
      add(row.cheap, priority, charge, devices, started);
    else
      row.all_cheap = false;
  }
  for (const model::PoolId pool : cluster.pools_of(node))
    for (const auto& [name, device] : cluster.pool(pool).devices)
      for (const model::ClaimId claim : ledger.device(device).holders)
        row.idle = row.idle || is_idle(context, claim, INT64_MAX);
  if (row.all_cheap) row.cheap.clear();
  sum_up(row.all);
  sum_up(row.cheap);
  count_lowest(rows_[node.index()], -1);
  count_lowest(row, +1);
  rows_[node.index()] = std::move(row);
}

std::optional<PreemptionCost> VictimIndex::bound(const model::Cluster& cluster, NodeId node,
                                                 const Levels& levels, const Demand& demand) {
  const model::ResourceAmounts lacking = lacking_of(cluster, node, *demand.charges);
  const auto suffices = [&](const Level& level) {
    return (level.devices || !demand.devices) &&
           std::ranges::all_of(lacking, [&](const model::ResourceAmount& one) {
             return level.freed[one.resource] >= one.amount;
           });
  };
  for (const Level& level : levels) {
    if (level.priority >= demand.priority) break;
    if (!suffices(level)) continue;
    if (level.priority == PreemptionCost::kNobody) return PreemptionCost{};
    // Those that end soon may leave all room but that of one victim.
    const bool ends = levels.front().priority == PreemptionCost::kNobody;
    std::int64_t victims = 1;
    for (const model::ResourceAmount& one : lacking) {
      const __int128 rest = one.amount - (ends ? levels.front().freed[one.resource] : 0);
      const std::int64_t largest = std::max<std::int64_t>(1, level.largest[one.resource]);
      victims = std::max(victims, static_cast<std::int64_t>((rest + largest - 1) / largest));
    }
    const std::int64_t lowest = levels[ends ? 1 : 0].priority;
    return PreemptionCost{
        .top = level.priority,
        .sum = weight_of(level.priority) + static_cast<__int128>(victims - 1) * weight_of(lowest),
        .victims = static_cast<std::uint32_t>(victims),
        .age = -level.latest.micros()};
  }
  return std::nullopt;
}

std::optional<PreemptionCost> VictimIndex::bound(const model::Cluster& cluster, NodeId node,
                                                 const Demand& demand) const {
  const Row& row = rows_[node.index()];
  if (demand.far_devices || (demand.devices && row.idle)) return PreemptionCost{};
  if (row.all_cheap) return bound(cluster, node, row.all, demand);
  if (auto cheap = bound(cluster, node, row.cheap, demand)) return cheap;
  auto any = bound(cluster, node, row.all, demand);
  if (any) any->refused = 1;  // or one of them is tied, which is worse
  return any;
}

__int128 VictimIndex::least_lost(const SchedulingContext& context, NodeId node, const Demand& demand,
                                 std::int64_t top) {
  const model::Ledger& ledger = context.cluster.ledger();
  __int128 least = 0;
  const auto count = [&](std::int64_t lacking, const std::function<std::int64_t(PodId)>& frees) {
    std::vector<__int128> lost;
    std::int64_t largest = 1;
    for (const PodId id : ledger.node(node).pods) {
      const Evictability kind = evictability(context.cluster, id, context.now);
      const std::int64_t freed = gives_room(kind) ? frees(id) : 0;
      if (freed == 0) continue;
      if (kind == Evictability::EndsSoon) lacking -= std::min(lacking, freed);
      if (kind == Evictability::EndsSoon || priority_of(context.view, *context.cluster.pod(id).live) > top)
        continue;
      largest = std::max(largest, freed);
      lost.push_back(lost_work(context, id));
    }
    const auto pods = std::min<std::int64_t>(std::ssize(lost), (lacking + largest - 1) / largest);
    std::ranges::partial_sort(lost, lost.begin() + pods);
    least = std::max(least, std::accumulate(lost.begin(), lost.begin() + pods, __int128{0}));
  };
  for (const model::ResourceAmount& one : lacking_of(context.cluster, node, *demand.charges))
    count(one.amount, [&](PodId pod) { return asked_of(ledger.charge(pod).requests, one.resource); });
  if (demand.devices) count(1, [&](PodId pod) { return holds_devices(ledger, ledger.charge(pod)) ? 1 : 0; });
  return least;
}

std::vector<model::ResourceId> VictimIndex::still_lacking(const model::Cluster& cluster, NodeId node,
                                                          const Demand& demand) const {
  const Levels& levels = rows_[node.index()].all;
  const auto above = std::ranges::lower_bound(levels, std::int64_t{demand.priority}, {}, &Level::priority);
  std::vector<model::ResourceId> lacking;
  for (const model::ResourceAmount& one : lacking_of(cluster, node, *demand.charges))
    if (above == levels.begin() || std::prev(above)->freed[one.resource] < one.amount)
      lacking.push_back(one.resource);
  return lacking;
}

bool VictimIndex::has_victims(NodeId node, std::int32_t priority) const {
  const Levels& all = rows_[node.index()].all;
  return !all.empty() && all.front().priority < priority;
}

std::int64_t VictimIndex::lowest() const {
  if (idle_ > 0) return PreemptionCost::kNobody;
  return lowest_.empty() ? INT64_MAX : lowest_.begin()->first;
}

void VictimIndex::count_lowest(const Row& row, int by) {
  idle_ += row.idle ? by : 0;
  returning_ += row.returns ? by : 0;
  if (row.all.empty()) return;
  const auto at = lowest_.try_emplace(row.all.front().priority, 0).first;
  at->second += by;
  if (at->second == 0) lowest_.erase(at);
}

}  // namespace berth::placement
