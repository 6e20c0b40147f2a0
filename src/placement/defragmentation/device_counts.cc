#include "placement/defragmentation/device_counts.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "placement/claims.h"
#include "placement/free_resources.h"

namespace berth::placement {
namespace {

bool is_accelerator(std::string_view name) {
  return std::ranges::any_of(kAcceleratorResources, [&](std::string_view known) {
    return known.ends_with('-') ? name.starts_with(known) : name == known;
  });
}

}  // namespace

DeviceCounts::DeviceCounts(const model::Cluster& cluster)
    : cluster_(cluster), nodes_(cluster.nodes().size()), owners_(cluster.device_count()) {
  for (std::uint32_t at = 0; at < cluster.resources().size(); ++at)
    if (is_accelerator(cluster.resources().text(model::ResourceId(at))))
      accelerators_.push_back(model::ResourceId(at));
  for (const auto& [name, node] : cluster.live_nodes()) read(node);
}

void DeviceCounts::read(model::NodeId node) {
  NodeDevices& own = nodes_[node.index()];
  std::vector<model::PoolId> pools = cluster_.pools_of(node);
  std::ranges::sort(pools);
  for (const model::PoolId id : pools) {
    const model::PoolRow& pool = cluster_.pool(id);
    if (pool.wide || pool.nodes.size() != 1) continue;
    std::map<std::string_view, std::uint32_t> sets;  // units by the counter set that their partitions share
    for (const auto& [name, device] : pool.devices) {
      const api::Device* offer = cluster_.find_offer(pool.driver, pool.pool, name);
      if (!offer) continue;
      std::uint32_t unit = own.units;
      if (!offer->consumes.empty())
        unit = sets.try_emplace(offer->consumes.front().counter_set, unit).first->second;
      own.units = std::max(own.units, unit + 1);
      own.parts.push_back({device, unit});
      owners_[device.index()] = {node, unit};
    }
  }
}

std::int64_t DeviceCounts::offered(model::NodeId node) const {
  std::int64_t devices = nodes_[node.index()].units;
  for (const model::ResourceId resource : accelerators_)
    devices += model::amount_in(cluster_.node(node).allocatable, resource);
  return devices;
}

std::int64_t DeviceCounts::used(model::NodeId node) const {
  const NodeDevices& own = nodes_[node.index()];
  std::vector<bool> in_use(own.units, false);
  for (const Part& part : own.parts)
    if (!cluster_.ledger().device(part.device).holders.empty()) in_use[part.unit] = true;
  std::int64_t devices = std::ranges::count(in_use, true);
  for (const model::ResourceId resource : accelerators_)
    if (model::amount_in(cluster_.node(node).allocatable, resource) > 0)
      devices += model::amount_in(cluster_.ledger().node(node).requested, resource);
  return devices;
}

std::int64_t DeviceCounts::held(model::PodId pod) const {
  const model::PodCharge& charge = cluster_.ledger().charge(pod);
  if (!charge.node.valid()) return 0;
  std::set<std::pair<model::NodeId, std::uint32_t>> units;
  for (const model::ClaimId claim : charge.claims) {
    const model::ClaimReservationPtr& reservation = cluster_.ledger().reservation(claim);
    if (!reservation) continue;
    for (const model::ReservedDevice& one : reservation->devices) {
      if (one.kind == model::DeviceUseKind::Admin || one.device.index() >= owners_.size()) continue;
      const Owner& owner = owners_[one.device.index()];
      if (owner.node.valid()) units.insert({owner.node, owner.unit});
    }
  }
  auto devices = static_cast<std::int64_t>(units.size());
  for (const model::ResourceAmount& one : charge.requests)
    if (std::ranges::find(accelerators_, one.resource) != accelerators_.end() &&
        model::amount_in(cluster_.node(charge.node).allocatable, one.resource) > 0)
      devices += one.amount;
  return devices + (charge.gpu_share ? static_cast<std::int64_t>(charge.gpu_share->groups.size()) : 0);
}

std::int64_t DeviceCounts::asked(const client::View& view, const api::Pod& pod) const {
  std::int64_t devices = 0;
  for (const api::PodClaim& named : pod.claims)
    if (const api::ResourceClaim* claim = view.claims.find(pod.meta.ns, api::claim_object_name(pod, named));
        claim && !claim->allocation)
      devices += least_devices(*claim);
  const model::PodId id = cluster_.find_pod(pod.meta.ns, pod.meta.name);
  if (!id.valid()) return devices;
  for (const model::ResourceId resource : accelerators_)
    devices += asked_of(cluster_.pod(id).requests, resource);
  return devices;
}

}  // namespace berth::placement
