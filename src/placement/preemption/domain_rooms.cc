#include "placement/preemption/domain_rooms.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "placement/claims.h"
#include "placement/free_resources.h"
#include "placement/groups/waiting_members.h"
#include "placement/index/domains.h"
#include "placement/preemption/lost_work.h"

namespace berth::placement {
namespace {

// Of the claims that the pod has alone and that are not allocated yet.
std::int64_t least_devices_of(const client::View& view, const api::Pod& pod) {
  std::int64_t devices = 0;
  for (const api::PodClaim& named : pod.claims) {
    const std::string name = api::claim_object_name(pod, named);
    const api::ResourceClaim* claim = view.claims.find(pod.meta.ns, name);
    if (!claim || claim->allocation || view.pods_using_claim(pod.meta.ns, name).size() != 1) continue;
    devices += least_devices(*claim);
  }
  return devices;
}

// The first `most` of them, evenly; each stands for those up to the next one.
void thin_out(std::vector<std::int64_t>& levels, std::size_t most) {
  if (levels.size() <= most) return;
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < most; ++i) kept.push_back(levels[i * levels.size() / most]);
  levels = std::move(kept);
}

}  // namespace

DomainRooms::DomainRooms(GroupCycle& groups, const SchedulingContext& context, const GroupInput& input,
                         std::size_t members, std::span<const Placement* const> placements,
                         model::Ledger::Transaction& transaction)
    : context_(context),
      cluster_(context.cluster),
      transaction_(transaction),
      priority_(input.group->priority),
      members_(members) {
  gather(placements);
  if (victims_.empty()) return;
  read_members(groups, input);
  const auto before = transaction_.savepoint();
  sweep(groups, input);
  transaction_.roll_back_to(before);
  for (Node& node : rows_) rate(node);
  sort_nodes();
}

void DomainRooms::gather(std::span<const Placement* const> placements) {
  for (const Placement* placement : placements)
    nodes_.insert(nodes_.end(), placement->nodes.begin(), placement->nodes.end());
  std::ranges::sort(nodes_);
  nodes_.erase(std::ranges::unique(nodes_).begin(), nodes_.end());
  row_of_.assign(cluster_.nodes().size(), kNoRow);
  for (std::size_t row = 0; row < nodes_.size(); ++row)
    row_of_[nodes_[row].index()] = static_cast<std::uint32_t>(row);
  for (const NodeId node : nodes_)
    for (const PodId pod : cluster_.ledger().node(node).pods) {
      const Evictability kind = evictability(cluster_, pod, context_.now);
      if (kind == Evictability::Fixed) continue;
      const std::int64_t priority = priority_of(context_.view, *cluster_.pod(pod).live);
      if (priority >= priority_) continue;
      if (kind == Evictability::BeingBound) waits_for_bindings_ = true;
      if (!gives_room(kind)) continue;
      const bool ends = kind == Evictability::EndsSoon;
      victims_.push_back({ends ? PreemptionCost::kNobody : priority, pod, node, lost_work(context_, pod)});
    }
  std::ranges::sort(victims_, {}, [](const Victim& one) { return std::tuple(one.priority, one.pod); });
  for (const Victim& one : victims_)
    if (one.priority != PreemptionCost::kNobody && (levels_.empty() || levels_.back() != one.priority))
      levels_.push_back(one.priority);
  thin_out(levels_, kPriorityLevelsMax);
}

// Where several nodes reach a device, nobody knows whose room it is.
void DomainRooms::read_members(const GroupCycle& groups, const GroupInput& input) {
  asked_ = WaitingMembers(cluster_, input.waiting).requested(cluster_);
  least_ = groups.least_requests(context_, input);
  std::erase_if(least_, [](const model::ResourceAmount& one) {
    return one.amount <= 0 || !model::is_asked(one.resource);
  });
  if (!cluster_.shared_pools().empty()) return;
  devices_ = INT64_MAX;
  for (const api::Pod* pod : input.waiting)
    devices_ = std::min(devices_, least_devices_of(context_.view, *pod));
}

std::int64_t DomainRooms::free_devices(NodeId node) const {
  const auto is_free = [&](model::DeviceId device) {
    const auto& holders = cluster_.ledger().device(device).holders;
    const bool idle = !holders.empty() && std::ranges::all_of(holders, [&](model::ClaimId claim) {
      return is_idle(context_, claim, priority_);
    });
    return idle || !cluster_.ledger().busy(device);
  };
  std::int64_t count = 0;
  for (const model::PoolId pool : cluster_.pools_of(node)) {
    const std::optional<std::int64_t> own = count_devices(cluster_, pool, is_free);
    if (!own) return kFitCountMax;
    count += *own;
  }
  return count;
}

std::vector<std::int64_t> DomainRooms::rooms(GroupCycle& groups, const GroupInput& input,
                                             std::span<const NodeId> nodes) const {
  std::vector<std::int64_t> rooms = groups.rooms(context_, input, nodes, transaction_);
  for (std::size_t i = 0; devices_ > 0 && i < nodes.size(); ++i)
    rooms[i] = std::min(rooms[i], free_devices(nodes[i]) / devices_);
  return rooms;
}

void DomainRooms::remove_below(std::int64_t priority, std::size_t& next, std::vector<NodeId>& changed) const {
  changed.clear();
  for (; next < victims_.size() && victims_[next].priority < priority; ++next) {
    remove_victim(cluster_, victims_[next].pod, model::GroupClaims::Freed, transaction_);
    changed.push_back(victims_[next].node);
  }
  std::ranges::sort(changed);
  changed.erase(std::ranges::unique(changed).begin(), changed.end());
}

void DomainRooms::remove_all() const {
  for (const Victim& one : victims_)
    remove_victim(cluster_, one.pod, model::GroupClaims::Freed, transaction_);
}

// Removes the victims level by level, and counts the nodes that changed again.
void DomainRooms::sweep(GroupCycle& groups, const GroupInput& input) {
  rows_.resize(nodes_.size());
  for (const Victim& one : victims_) {
    if (one.priority == PreemptionCost::kNobody) continue;
    Node& node = row(one.node);
    ++node.victims;
    node.prices.push_back({one.priority, one.lost});
    node.lost += one.lost;
    node.largest.resize(least_.size());
    for (std::size_t i = 0; i < least_.size(); ++i)
      for (const model::ResourceAmount& freed : cluster_.ledger().charge(one.pod).requests)
        if (freed.resource == least_[i].resource) node.largest[i] = std::max(node.largest[i], freed.amount);
  }
  std::size_t next = 0;
  std::vector<NodeId> changed;
  const auto ceiling = [&](std::size_t level) {
    return level < levels_.size() ? levels_[level] : std::int64_t{INT64_MAX};
  };
  remove_below(ceiling(0), next, changed);
  const std::vector<std::int64_t> now = rooms(groups, input, nodes_);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = rows_[i];
    node.now = node.room = now[i];
    for (const model::ResourceAmount& one : least_)
      node.free.push_back(free_of(cluster_.node(nodes_[i]), cluster_.ledger().node(nodes_[i]), one.resource));
  }
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    remove_below(ceiling(level + 1), next, changed);
    const std::vector<std::int64_t> freed = rooms(groups, input, changed);
    for (std::size_t i = 0; i < changed.size(); ++i) {
      Node& node = row(changed[i]);
      if (freed[i] <= node.room) continue;
      node.gains.push_back({level, freed[i] - node.room});
      node.room = freed[i];
    }
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) rows_[i].use = use_of(cluster_, nodes_[i]);
}

// The most members that a victim of the node makes room for: by resources, or, where these do not say what
// limits the node, all that its victims make room for.
void DomainRooms::rate(Node& node) const {
  const std::int64_t gained =
      std::min<std::int64_t>(node.room - node.now, static_cast<std::int64_t>(members_));
  const auto gain = [&](std::int64_t victims) {
    std::int64_t room = node.room;
    for (std::size_t i = 0; i < node.largest.size(); ++i) {
      const __int128 free = node.free[i] + static_cast<__int128>(victims) * node.largest[i];
      if (free < static_cast<__int128>(room) * least_[i].amount)
        room = free < 0 ? 0 : static_cast<std::int64_t>(free / least_[i].amount);
    }
    return std::clamp<std::int64_t>(room - node.now, 0, gained);
  };
  const bool known = node.victims <= kVictimsRatedMax && gain(node.victims) == gained;
  if (!known) node.best_members = gained;
  for (std::int64_t victims = 1; known && victims <= node.victims; ++victims) {
    const std::int64_t members = gain(victims);
    if (members * node.best_victims <= node.best_members * victims) continue;
    node.best_members = members;
    node.best_victims = victims;
  }
}

// By the priority that the first member costs, then by the lost work and by the victims for each, then by
// name.
void DomainRooms::sort_nodes() {
  std::vector<std::pair<NodeId, Node*>> gaining;
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (!rows_[i].gains.empty()) gaining.emplace_back(nodes_[i], &rows_[i]);
  std::ranges::sort(gaining, [&](const auto& a, const auto& b) {
    const Node &x = *a.second, &y = *b.second;
    if (x.gains.front().level != y.gains.front().level) return x.gains.front().level < y.gains.front().level;
    const __int128 less = x.lost * (y.room - y.now), more = y.lost * (x.room - x.now);
    if (less != more) return less < more;
    const std::int64_t left = x.best_members * y.best_victims, right = y.best_members * x.best_victims;
    if (left != right) return left > right;
    return cluster_.node(a.first).name < cluster_.node(b.first).name;
  });
  for (std::size_t i = 0; i < gaining.size(); ++i) gaining[i].second->turn = i;
}

std::size_t DomainRooms::turn(NodeId node) const {
  const std::uint32_t at = rows_.empty() || !node.valid() ? kNoRow : row_of_[node.index()];
  return at == kNoRow ? SIZE_MAX : rows_[at].turn;
}

std::size_t DomainRooms::victims(const Placement& placement) const {
  std::size_t count = 0;
  for (const NodeId node : placement.nodes) count += static_cast<std::size_t>(row(node).victims);
  return count;
}

// The mean of CPU and memory, of those that the placement has.
std::int64_t DomainRooms::free_millionths(const Placement& placement) const {
  constexpr __int128 kWhole = 1'000'000;
  DomainUse use = asked_;
  for (const NodeId node : placement.nodes) use += row(node).use;
  std::int64_t sum = 0, resources = 0;
  for (std::size_t r = 0; r < std::size(use.allocatable); ++r) {
    if (use.allocatable[r] <= 0) continue;
    const __int128 free = std::max<__int128>(0, use.allocatable[r] - use.requested[r]);
    sum += static_cast<std::int64_t>(free * kWhole / use.allocatable[r]);
    ++resources;
  }
  return resources == 0 ? 0 : sum / resources;
}

std::optional<DomainRooms::Bound> DomainRooms::bound(const Placement& placement, std::size_t needed,
                                                     std::size_t wanted) const {
  std::int64_t room = 0, best_members = 0, best_victims = 1;
  std::vector<std::int64_t> gains(levels_.size());
  const auto all = static_cast<std::int64_t>(wanted);
  for (const NodeId id : placement.nodes) {
    const Node& node = row(id);
    room = std::min(all, room + std::min(all, node.now));
    for (const Gain& one : node.gains) gains[one.level] += std::min(all, one.members);
    if (node.best_members * best_victims <= best_members * node.best_victims) continue;
    best_members = node.best_members;
    best_victims = node.best_victims;
  }
  const std::int64_t now = room;
  std::size_t level = levels_.size();
  for (std::size_t i = 0; i < levels_.size() && room < all; ++i) {
    if (gains[i] == 0) continue;
    room = std::min(all, room + gains[i]);
    level = i;
  }
  if (room < static_cast<std::int64_t>(needed)) return std::nullopt;
  Bound bound{static_cast<std::size_t>(room), {}};
  if (room == now || best_members == 0) return bound;
  const std::int64_t victims = ((room - now) * best_victims + best_members - 1) / best_members;
  bound.cost = least_cost(placement, level, victims);
  return bound;
}

// The least that so many victims cost which make room, and of which none is above the level and one is at it.
PreemptionCost DomainRooms::least_cost(const Placement& placement, std::size_t level,
                                       std::int64_t victims) const {
  const std::int64_t above = level + 1 < levels_.size() ? levels_[level + 1] : INT64_MAX;
  std::vector<std::int64_t> priorities;
  std::vector<__int128> lost;
  for (const NodeId id : placement.nodes) {
    const Node& node = row(id);
    for (const Price& one : node.prices) {
      if (node.gains.empty() || one.priority >= above) continue;
      priorities.push_back(one.priority);
      lost.push_back(one.lost);
    }
  }
  const auto rest = std::min<std::int64_t>(victims, std::ssize(lost)) - 1;  // beside the one at the level
  std::ranges::nth_element(priorities, priorities.begin() + rest);
  std::ranges::nth_element(lost, lost.begin() + rest);
  PreemptionCost cost;
  cost.top = levels_[level];
  cost.lost = std::accumulate(lost.begin(), lost.begin() + rest + 1, __int128{0});
  cost.sum = weight_of(std::max(levels_[level], priorities[static_cast<std::size_t>(rest)]));
  for (std::int64_t i = 0; i < rest; ++i) cost.sum += weight_of(priorities[static_cast<std::size_t>(i)]);
  cost.victims = static_cast<std::uint32_t>(victims);
  cost.age = INT64_MIN;
  return cost;
}

std::vector<NodeId> DomainRooms::cheapest(const Placement& placement, std::size_t members) const {
  std::vector<NodeId> nodes(placement.nodes.begin(), placement.nodes.end());
  std::erase_if(nodes, [&](NodeId node) { return turn(node) == SIZE_MAX; });
  std::ranges::sort(nodes, {}, [&](NodeId node) { return turn(node); });
  std::size_t room = 0, kept = 0;
  for (; kept < nodes.size() && room < members; ++kept) {
    const Node& node = row(nodes[kept]);
    room += static_cast<std::size_t>(
        std::min<std::int64_t>(node.room - node.now, static_cast<std::int64_t>(members_)));
  }
  nodes.resize(kept);
  return nodes;
}

}  // namespace berth::placement
