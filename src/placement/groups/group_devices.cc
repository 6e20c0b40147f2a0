#include "placement/groups/group_devices.h"

#include <algorithm>
#include <map>

#include "placement/claims.h"

namespace berth::placement {
namespace {

// Claims without devices, by pod.
std::vector<std::vector<model::ClaimId>> open_claims(const model::Cluster& cluster,
                                                     std::span<const api::Pod* const> members) {
  std::vector<std::vector<model::ClaimId>> all;
  for (const api::Pod* pod : members) {
    std::vector<model::ClaimId>& own = all.emplace_back();
    for (const api::PodClaim& named : pod->claims) {
      const model::ClaimId id = cluster.find_claim(pod->meta.ns, api::claim_object_name(*pod, named));
      if (id.valid() && cluster.claim(id).live && !cluster.ledger().reservation(id)) own.push_back(id);
    }
  }
  return all;
}

// Of the pool's slices for this node, and for any. None: several claims may share a device.
std::optional<std::int64_t> free_of_pool(const model::Cluster& cluster, const model::PoolRow& pool,
                                         std::string_view node) {
  std::int64_t count = 0;
  for (const auto& [name, slice] : pool.slices) {
    if (!slice.live->node_name.empty() && slice.live->node_name != node) continue;
    for (std::size_t i = 0; i < slice.devices.size(); ++i) {
      if (slice.live->devices[i].allow_multiple) return std::nullopt;
      count += cluster.ledger().busy(slice.devices[i]) ? 0 : 1;
    }
  }
  return count;
}

}  // namespace

GroupDevices::GroupDevices(const model::Cluster& cluster, std::span<const api::Pod* const> members)
    : cluster_(cluster) {
  const std::vector<std::vector<model::ClaimId>> claims = open_claims(cluster, members);
  std::map<model::ClaimId, int> users;
  for (const auto& own : claims)
    for (const model::ClaimId claim : own) ++users[claim];
  std::optional<std::int64_t> least;
  for (const auto& own : claims) {
    std::int64_t devices = 0;
    for (const model::ClaimId claim : own)
      if (users[claim] == 1) devices += least_devices(*cluster.claim(claim).live);
    least = std::min(least.value_or(devices), devices);
  }
  per_member_ = least.value_or(0);
}

std::optional<std::int64_t> GroupDevices::free_on(model::NodeId node) {
  if (known_.size() <= node.index()) known_.resize(node.index() + 1);
  std::optional<std::optional<std::int64_t>>& known = known_[node.index()];
  if (!known) known = count(node);
  return *known;
}

std::optional<std::int64_t> GroupDevices::count(model::NodeId node) const {
  const std::string& name = cluster_.node(node).name;
  std::int64_t sum = 0;
  const auto add = [&](model::PoolId pool) {
    const auto free = free_of_pool(cluster_, cluster_.pool(pool), name);
    if (free) sum += *free;
    return free.has_value();
  };
  for (const model::PoolId pool : cluster_.pools_of(node))
    if (!cluster_.pool(pool).wide && !add(pool)) return std::nullopt;
  for (const auto& [key, pool] : cluster_.shared_pools())
    if (!add(pool)) return std::nullopt;
  return sum;
}

std::int64_t GroupDevices::room(model::NodeId node, std::int64_t most) {
  if (per_member_ == 0) return most;
  const std::optional<std::int64_t> free = free_on(node);
  return free ? std::min(most, *free / per_member_) : most;
}

}  // namespace berth::placement
