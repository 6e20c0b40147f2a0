#include "health/device_allocations.h"

#include <algorithm>
#include <set>

namespace berth::health {

bool DeviceAllocations::retain(const NodePods& pods) {
  std::set<std::string_view> uids;
  for (const NodePod& pod : pods) uids.insert(pod.uid);
  return std::erase_if(held_, [&](const auto& entry) { return !uids.contains(entry.first.pod_uid); }) > 0;
}

std::optional<MissingDevices> DeviceAllocations::missing(const NodePod& pod,
                                                         const PluginResources& resources) const {
  for (const ContainerNeeds& container : pod.containers) {
    const auto held = held_.find({pod.uid, container.name});
    for (const auto& [resource, amount] : container.amounts) {
      if (amount <= 0 || !resources.contains(resource)) continue;
      if (held != held_.end() && held->second.contains(resource)) continue;
      return MissingDevices{&pod, &container, resource, amount};
    }
  }
  return std::nullopt;
}

Result<DeviceAllocations::Choice> DeviceAllocations::candidates(const MissingDevices& missing,
                                                                const PluginResource& resource) const {
  std::set<std::string_view> taken, reusable;
  for (const auto& [container, resources] : held_) {
    const auto held = resources.find(missing.resource);
    if (held == resources.end()) continue;
    const bool offered = held->second.reusable && container.pod_uid == missing.pod->uid;
    (offered ? reusable : taken).insert(held->second.ids.begin(), held->second.ids.end());
  }
  Choice choice;
  for (const std::string_view id : reusable)
    if (!taken.contains(id)) choice.taken_over.emplace_back(id);
  for (const auto& [id, device] : resource.devices)
    if (device.allocatable && !taken.contains(id) && !reusable.contains(id)) choice.available.push_back(id);
  const auto available = static_cast<std::int64_t>(choice.taken_over.size() + choice.available.size());
  if (missing.amount > available)
    return Error(ErrorCode::Unavailable, "requested number of devices unavailable for " + missing.resource +
                                             ". Requested: " + std::to_string(missing.amount) +
                                             ", Available: " + std::to_string(available));
  return choice;
}

std::vector<std::string> DeviceAllocations::chosen(const Choice& choice, std::int64_t amount) {
  std::vector<std::string> ids;
  for (const auto* from : {&choice.taken_over, &choice.available})
    for (const std::string& id : *from)
      if (static_cast<std::int64_t>(ids.size()) < amount) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

void DeviceAllocations::hold(const ContainerId& container, const std::string& resource, HeldDevices devices) {
  held_[container].insert_or_assign(resource, std::move(devices));
}

}  // namespace berth::health
