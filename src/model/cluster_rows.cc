// Rows by name, and the canonical text.
#include <algorithm>

#include "model/cluster.h"

namespace berth::model {
namespace {

// The id of this name, in a free row if one exists.
template <class Id, class Row>
Id row_of(client::NamedTable<Id>& ids, std::vector<Row>& rows, std::vector<Id>& free, std::string_view ns,
          std::string_view name) {
  const auto [id, added] = ids.try_emplace(ns, name);
  if (!added) return *id;
  if (free.empty()) {
    *id = Id(static_cast<std::uint32_t>(rows.size()));
    rows.emplace_back();
  } else {
    *id = free.back();
    free.pop_back();
  }
  rows[id->index()].key = {std::string(ns), std::string(name)};
  return *id;
}

std::string sorted(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

}  // namespace

NodeId Cluster::node_id(std::string_view name) {
  const NodeId id = node_names_.intern(name);
  if (id.index() == nodes_.size()) {
    nodes_.emplace_back();
    nodes_.back().name = name;
  }
  return id;
}

void Cluster::expect_rows(std::size_t pods, std::size_t claims) {
  pod_ids_.reserve(pods);
  pods_.reserve(pods);
  claim_ids_.reserve(claims);
  claims_.reserve(claims);
  ledger_.expect_rows(pods, claims);
}

PodId Cluster::pod_id(std::string_view ns, std::string_view name) {
  return row_of(pod_ids_, pods_, free_pods_, ns, name);
}
ClaimId Cluster::claim_id(std::string_view ns, std::string_view name) {
  return row_of(claim_ids_, claims_, free_claims_, ns, name);
}

void Cluster::retire_if_unused(PodId pod) {
  PodRow& row = pods_[pod.index()];
  if (row.live || !row.bind_requests.empty() || !pod_ids_.find(row.key.ns, row.key.name)) return;
  ledger_.update_pod(pod, {});
  pod_ids_.erase(row.key.ns, row.key.name);
  row = {};
  free_pods_.push_back(pod);
}

void Cluster::retire_if_unused(ClaimId claim) {
  ClaimRow& row = claims_[claim.index()];
  if (row.live || !row.bind_requests.empty() || !row.assumed_by.empty() || ledger_.users(claim) > 0) return;
  if (!claim_ids_.find(row.key.ns, row.key.name)) return;
  ledger_.update_claim(claim, nullptr);
  claim_ids_.erase(row.key.ns, row.key.name);
  row = {};
  free_claims_.push_back(claim);
}

PoolId Cluster::pool_id(const std::string& driver, const std::string& pool) {
  const auto [at, added] = pool_ids_.try_emplace({driver, pool});
  if (added) {
    at->second = PoolId(static_cast<std::uint32_t>(pools_.size()));
    pools_.emplace_back();
    pools_.back().driver = driver;
    pools_.back().pool = pool;
  }
  return at->second;
}

DeviceId Cluster::device_id(PoolId pool, std::string_view name) {
  auto& devices = pools_[pool.index()].devices;
  const auto found = devices.find(name);
  if (found != devices.end()) return found->second;
  const DeviceId id(static_cast<std::uint32_t>(devices_.size()));
  devices_.push_back({pool, std::string(name)});
  devices.emplace(name, id);
  ledger_.device_belongs_to(id, pool);
  return id;
}

std::vector<PoolId> Cluster::pools_of(NodeId id) const {
  std::vector<PoolId> pools;
  for (const auto& [pool, slices] : nodes_[id.index()].local_pools) pools.push_back(pool);
  return pools;
}

PodId Cluster::find_pod(std::string_view ns, std::string_view name) const {
  const PodId* found = pod_ids_.find(ns, name);
  return found ? *found : PodId::none();
}

ClaimId Cluster::find_claim(std::string_view ns, std::string_view name) const {
  const ClaimId* found = claim_ids_.find(ns, name);
  return found ? *found : ClaimId::none();
}

PoolId Cluster::find_pool(std::string_view driver, std::string_view pool) const {
  const auto found = pool_ids_.find({std::string(driver), std::string(pool)});
  return found == pool_ids_.end() ? PoolId::none() : found->second;
}

DeviceId Cluster::find_device(std::string_view driver, std::string_view pool, std::string_view device) const {
  const PoolId id = find_pool(driver, pool);
  if (!id.valid()) return DeviceId::none();
  const auto found = pools_[id.index()].devices.find(device);
  return found == pools_[id.index()].devices.end() ? DeviceId::none() : found->second;
}

const api::Device* Cluster::find_offer(std::string_view driver, std::string_view pool,
                                       std::string_view device) const {
  const DeviceId id = find_device(driver, pool, device);
  if (!id.valid()) return nullptr;
  const api::Device* offer = nullptr;
  std::int64_t generation = 0;
  for (const auto& [name, slice] : pools_[find_pool(driver, pool).index()].slices) {
    if (offer && slice.live->generation <= generation) continue;
    const auto at = std::find(slice.devices.begin(), slice.devices.end(), id);
    if (at == slice.devices.end()) continue;
    offer = &slice.live->devices[static_cast<std::size_t>(at - slice.devices.begin())];
    generation = slice.live->generation;
  }
  return offer;
}

// An allocation may name devices and capacities that are in no slice.
void Cluster::make_rows_of(const api::Allocation& allocation) {
  for (const api::DeviceResult& result : allocation.results) {
    device_id(pool_id(result.driver, result.pool), result.device);
    for (const auto& [name, amount] : result.consumed_capacity) capacities_.intern(name);
  }
}

ClaimReservationPtr Cluster::reservation_for(std::shared_ptr<const api::Allocation> allocation) const {
  auto reservation = std::make_shared<ClaimReservation>();
  for (const api::DeviceResult& result : allocation->results) {
    ReservedDevice held{find_device(result.driver, result.pool, result.device), DeviceUseKind::Dedicated, {}};
    BERTH_ASSERT(held.device.valid(), "a chosen device has a row");
    if (result.admin_access) {
      held.kind = DeviceUseKind::Admin;
    } else if (!result.share_id.empty() || !result.consumed_capacity.empty()) {
      held.kind = DeviceUseKind::Share;
      for (const auto& [name, amount] : result.consumed_capacity)
        held.consumed.push_back({capacities_.find(name), amount});
      std::sort(held.consumed.begin(), held.consumed.end(),
                [](const CapacityAmount& a, const CapacityAmount& b) { return a.capacity < b.capacity; });
    }
    reservation->devices.push_back(std::move(held));
  }
  reservation->allocation = std::move(allocation);
  return reservation;
}

std::string Cluster::nodes_text() const {
  std::vector<std::string> lines;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const NodeUse& use = ledger_.node(NodeId(i));
    std::vector<std::string> taken;
    for (std::uint32_t r = 0; r < use.requested.size(); ++r)
      if (use.requested[ResourceId(r)] != 0)
        taken.push_back(resources_.text(ResourceId(r)) + "=" +
                        std::to_string(amount_in(use.requested, ResourceId(r))));
    for (const GpuGroupUse& group : use.gpu_groups)
      taken.push_back("group:" + group.name + "=" + std::to_string(group.hundredths) + "/" +
                      std::to_string(group.members));
    std::sort(taken.begin(), taken.end());
    if (!nodes_[i].live && taken.empty() && use.pods.empty() && use.expected.empty()) continue;
    std::string line = "node " + nodes_[i].name + (nodes_[i].live ? " live" : " unknown");
    for (const std::string& entry : taken) line += " " + entry;
    std::vector<std::string> pods;
    for (const PodId pod : use.pods) pods.push_back(pods_[pod.index()].key.text());
    std::sort(pods.begin(), pods.end());
    for (const std::string& pod : pods) line += " pod:" + pod;
    for (const PodId pod : use.expected) line += " expected:" + pods_[pod.index()].key.text();
    lines.push_back(std::move(line));
  }
  return sorted(std::move(lines));
}

std::string Cluster::devices_text() const {
  std::vector<std::string> lines;
  for (std::uint32_t i = 0; i < devices_.size(); ++i) {
    const DeviceUse& use = ledger_.device(DeviceId(i));
    BERTH_ASSERT(ledger_.busy(DeviceId(i)) == !use.free(), "the busy byte follows the use");
    if (use.free() && use.holders.empty() && use.consumed.empty()) continue;
    const PoolRow& pool = pools_[devices_[i].pool.index()];
    std::string line = "device " + pool.driver + "/" + pool.pool + "/" + devices_[i].name +
                       " dedicated=" + std::to_string(use.dedicated) +
                       " shares=" + std::to_string(use.shares);
    std::vector<std::string> details;
    for (const CapacityAmount& entry : use.consumed)
      details.push_back(capacities_.text(entry.capacity) + "=" + entry.amount.text());
    for (const ClaimId claim : use.holders) details.push_back("claim:" + claims_[claim.index()].key.text());
    std::sort(details.begin(), details.end());
    for (const std::string& detail : details) line += " " + detail;
    lines.push_back(std::move(line));
  }
  return sorted(std::move(lines));
}

std::string Cluster::to_text() const {
  std::string out = nodes_text() + devices_text();
  for (const auto& [key, pool] : pool_ids_)
    for (const auto& [name, slice] : pools_[pool.index()].slices)
      out += "slice " + key.first + "/" + key.second + " " + name + "\n";
  for (const auto& [key, pool] : shared_pools_) out += "wide " + key.first + "/" + key.second + "\n";
  std::vector<std::string> rows;
  for (const PodRow& row : pods_)
    if (find_pod(row.key.ns, row.key.name).valid()) rows.push_back("pod " + row.key.text());
  for (const ClaimRow& row : claims_)
    if (const ClaimId claim = find_claim(row.key.ns, row.key.name); claim.valid())
      rows.push_back("claim " + row.key.text() + (ledger_.reservation(claim) ? " holds" : ""));
  out += sorted(std::move(rows));
  for (const auto& [uid, assumption] : assumptions_)
    out += "assumed " + uid + " on " + assumption.node + " by " + assumption.decision + "\n";
  return out;
}

}  // namespace berth::model
