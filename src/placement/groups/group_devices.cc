#include "placement/groups/group_devices.h"

#include <algorithm>
#include <map>

#include "dra/allocator.h"
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

}  // namespace

std::set<model::ClaimId> GroupDevices::claims_of_several(const model::Cluster& cluster,
                                                         std::span<const api::Pod* const> pods) {
  std::set<model::ClaimId> one, several;
  for (const auto& own : open_claims(cluster, pods))
    for (const model::ClaimId claim : own)
      if (!one.insert(claim).second) several.insert(claim);
  return several;
}

GroupDevices::GroupDevices(const SchedulingContext& context, std::span<const api::Pod* const> members,
                           const std::set<model::ClaimId>& shared)
    : context_(context), cluster_(context.cluster) {
  std::optional<ByKind> least;
  for (std::vector<model::ClaimId>& own : open_claims(cluster_, members)) {
    std::erase_if(own, [&](model::ClaimId claim) { return shared.contains(claim); });
    const ByKind asks = asks_of(own);
    if (!least) least = asks;
    for (auto& [kind, count] : *least) {
      const auto found = asks.find(kind);
      count = std::min(count, found == asks.end() ? 0 : found->second);
    }
  }
  if (!least) return;
  for (const auto& [kind, count] : *least) {
    if (count == 0) continue;
    asks_.push_back({kind, count});
    demand_ += kind.first + " " + std::to_string(kind.second) + " " + std::to_string(count) + "\n";
  }
}

GroupDevices::ByKind GroupDevices::asks_of(const std::vector<model::ClaimId>& claims) {
  ByKind asks;
  for (const model::ClaimId id : claims) {
    const api::ResourceClaim& claim = *cluster_.claim(id).live;
    bool more = false;
    for (const api::DeviceRequest& request : claim.requests) {
      const std::int64_t count = least_devices(request);
      asks[{}] += count;
      if (std::string driver = driver_of(request); !driver.empty()) asks[{std::move(driver), 0}] += count;
      more |= count > 0 && asks_for_more(request);
    }
    if (more) add_by_selectors(cluster_.claim(id).live, asks);
  }
  return asks;
}

// Where members are placed, an error of the claim is reported.
void GroupDevices::add_by_selectors(const dra::ClaimPtr& claim, ByKind& asks) {
  const auto compiled = context_.allocator.prepare({&claim, 1});
  if (!compiled) return;
  const std::vector<std::uint64_t> numbers = context_.allocator.selectors_of(**compiled);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == 0) continue;
    asks[{"", numbers[i]}] += least_devices(claim->requests[i]);
    selecting_.try_emplace(numbers[i], Selecting{*compiled, i});
  }
}

bool GroupDevices::asks_for_more(const api::DeviceRequest& request) const {
  if (request.alternatives.size() != 1) return false;
  const api::DeviceSubRequest& only = request.alternatives.front();
  const auto found = cluster_.classes().find(only.device_class);
  if (found == cluster_.classes().end()) return false;
  const std::vector<std::string>& texts = found->second->selectors;
  if (!only.selectors.empty() || texts.size() > 1) return true;
  return !texts.empty() && (driver_of(request).empty() || texts.front().find("&&") != std::string::npos);
}

std::string GroupDevices::driver_of(const api::DeviceRequest& request) const {
  if (request.alternatives.size() != 1) return "";
  const api::DeviceSubRequest& only = request.alternatives.front();
  const auto& classes = cluster_.classes();
  const auto found = classes.find(only.device_class);
  if (found == classes.end()) return "";
  return context_.allocator.driver_of(*found->second, only).value_or("");
}

const GroupDevices::Free& GroupDevices::free_on(model::NodeId node) {
  if (known_.size() <= node.index()) known_.resize(node.index() + 1);
  std::optional<Free>& known = known_[node.index()];
  if (!known) known = count(node);
  return *known;
}

// Of the pool's slices for this node, and for any. False: several claims may share a device.
bool GroupDevices::add_free(model::PoolId id, std::string_view node, std::vector<std::int64_t>& free) const {
  const model::PoolRow& pool = cluster_.pool(id);
  const bool of_one_node = !pool.wide && pool.nodes.size() == 1;
  std::int64_t count = 0;
  for (const auto& [name, slice] : pool.slices) {
    if (!of_one_node && !slice.live->node_name.empty() && slice.live->node_name != node) continue;
    if (slice.shares) return false;
    for (const model::DeviceId device : slice.devices) count += cluster_.ledger().busy(device) ? 0 : 1;
  }
  for (std::size_t i = 0; i < asks_.size(); ++i)
    if (asks_[i].kind.first.empty() || asks_[i].kind.first == pool.driver) free[i] += count;
  return true;
}

GroupDevices::Free GroupDevices::count(model::NodeId node) {
  const std::string& name = cluster_.node(node).name;
  std::vector<std::int64_t> free(asks_.size());
  for (const auto& [pool, slices] : cluster_.node(node).local_pools)
    if (!cluster_.pool(pool).wide && !add_free(pool, name, free)) return std::nullopt;
  for (const auto& [key, pool] : cluster_.shared_pools())
    if (!add_free(pool, name, free)) return std::nullopt;
  limit_by_selectors(node, free);
  return free;
}

void GroupDevices::limit_by_selectors(model::NodeId node, std::vector<std::int64_t>& free) {
  if (selecting_.empty() || nodes_left_ == 0) return;
  --nodes_left_;
  const dra::AllocationRequest* counted = nullptr;
  std::vector<std::int64_t> counts;
  for (std::size_t i = 0; i < asks_.size(); ++i) {
    const auto found = selecting_.find(asks_[i].kind.second);
    if (found == selecting_.end()) continue;
    const Selecting& one = found->second;
    if (one.claim.get() != counted) counts = context_.allocator.free_devices(*one.claim, node);
    counted = one.claim.get();
    free[i] = std::min(free[i], counts[one.request]);
  }
}

std::int64_t GroupDevices::room(model::NodeId node, std::int64_t most) {
  if (!limits()) return most;
  const Free& free = free_on(node);
  for (std::size_t i = 0; free && i < asks_.size(); ++i) most = std::min(most, (*free)[i] / asks_[i].count);
  return most;
}

std::int64_t GroupDevices::recount(model::NodeId node, std::int64_t most) {
  if (node.index() < known_.size()) known_[node.index()].reset();
  return room(node, most);
}

std::int64_t GroupDevices::lacking(std::span<const model::NodeId> nodes, std::int64_t members) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < asks_.size(); ++i) {
    std::int64_t lacks = asks_[i].count * members;
    for (const model::NodeId node : nodes) {
      const Free& free = free_on(node);
      if (!free) return 0;
      lacks -= (*free)[i];
    }
    most = std::max(most, lacks);
  }
  return most;
}

}  // namespace berth::placement
