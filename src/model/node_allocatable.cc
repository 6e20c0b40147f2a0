#include "model/node_allocatable.h"

#include <algorithm>

namespace berth::model {
namespace {

std::string text_of(const api::Pod& pod, const AllocatedClaim& claim, const api::DeviceResult& result) {
  return "claim " + pod.meta.ns + "/" + std::string(claim.name) + ", device " + result.device;
}

void add(std::optional<Quantity>& sum, const std::optional<Quantity>& more) {
  if (more) sum = sum ? *sum + *more : *more;
}

// What one device adds to its claim's entry.
Status add_device(const api::Pod& pod, const AllocatedClaim& claim, const api::DeviceResult& result,
                  const api::Device& device, api::NodeAllocatableClaim& sum) {
  for (const auto& [name, resource] : device.node_allocatable) {
    if (resource.overhead) {
      api::NodeAllocatableOverhead& overhead = sum.overhead[name];
      add(overhead.per_pod, resource.overhead->per_pod);
      add(overhead.per_container, resource.overhead->per_container);
    }
    if (!resource.mapping) continue;
    const auto& [key, multiplier] = *resource.mapping;
    if (key.empty()) {
      sum.mapping[name] += multiplier;
      continue;
    }
    if (result.consumed_capacity.empty() && !result.admin_access)
      return Error(ErrorCode::Invalid, text_of(pod, claim, result) +
                                           ": ConsumedCapacity is nil, but Capacity key '" + key +
                                           "' is set in NodeAllocatableResources for resource " + name);
    if (const auto used = result.consumed_capacity.find(key); used != result.consumed_capacity.end())
      sum.mapping[name] += api::product(used->second, multiplier);
  }
  return {};
}

std::vector<const api::Device*> devices_of(const Cluster& cluster, const api::Allocation& allocation) {
  std::vector<const api::Device*> devices;
  for (const api::DeviceResult& result : allocation.results)
    devices.push_back(cluster.find_offer(result.driver, result.pool, result.device));
  return devices;
}

bool takes(const api::Device* device) {
  return device && !device->node_allocatable.empty();
}

void name_containers(const api::Pod& pod, std::string_view pod_claim, std::vector<std::string>& names) {
  for (const auto* containers : {&pod.init_containers, &pod.containers})
    for (const api::Container& container : *containers)
      if (std::any_of(container.claims.begin(), container.claims.end(),
                      [&](const api::ContainerClaim& used) { return used.name == pod_claim; }) &&
          std::find(names.begin(), names.end(), container.name) == names.end())
        names.push_back(container.name);
}

}  // namespace

Result<NodeAllocatablePtr> node_allocatable(const Cluster& cluster, const api::Pod& pod,
                                            const std::vector<AllocatedClaim>& claims) {
  std::map<std::string_view, api::NodeAllocatableClaim> entries;
  for (const AllocatedClaim& claim : claims) {
    const std::vector<const api::Device*> devices = devices_of(cluster, *claim.allocation);
    if (std::none_of(devices.begin(), devices.end(), takes)) continue;
    const auto [at, added] = entries.try_emplace(claim.name);
    api::NodeAllocatableClaim& entry = at->second;
    name_containers(pod, claim.pod_claim, entry.containers);
    if (!added) continue;  // the pod names it twice
    entry.claim_name = claim.name;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const api::DeviceResult& result = claim.allocation->results[i];
      if (!devices[i])
        return Error(ErrorCode::NotFound, text_of(pod, claim, result) + ", driver " + result.driver +
                                              ": device " + result.device + " not found in pool " +
                                              result.pool + " for driver " + result.driver);
      if (Status added_up = add_device(pod, claim, result, *devices[i], entry); !added_up)
        return added_up.error();
    }
  }
  auto list = std::make_shared<api::NodeAllocatableClaims>();
  for (auto& [name, entry] : entries)
    if (!entry.mapping.empty() || !entry.overhead.empty()) list->push_back(std::move(entry));
  return list->empty() ? nullptr : NodeAllocatablePtr(std::move(list));
}

bool is_mapped(const Cluster& cluster, const api::Allocation& allocation) {
  const std::vector<const api::Device*> devices = devices_of(cluster, allocation);
  return std::any_of(devices.begin(), devices.end(), [](const api::Device* device) {
    return device && std::any_of(device->node_allocatable.begin(), device->node_allocatable.end(),
                                 [](const auto& resource) { return resource.second.mapping.has_value(); });
  });
}

}  // namespace berth::model
