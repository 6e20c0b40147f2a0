#include "model/resources.h"

#include <algorithm>

#include "api/types/gpu_share.h"
#include "base/assert.h"

namespace berth::model {
namespace {

// No resource has a name with a blank.
constexpr std::string_view kUnaskedCpuName = "cpu unasked";
constexpr std::string_view kUnaskedMemoryName = "memory unasked";

void sort(ResourceAmounts& amounts) {
  std::sort(amounts.begin(), amounts.end(),
            [](const ResourceAmount& a, const ResourceAmount& b) { return a.resource < b.resource; });
}

// Neither it nor a report of its node lacks an amount that has a floor.
bool names_both(const api::Container& container) {
  return container.requests.contains("cpu") && container.requests.contains("memory") && !container.reported;
}

template <class IdOf>
ResourceAmounts amounts_by(const api::ResourceMap& map, IdOf id_of) {
  ResourceAmounts amounts;
  amounts.reserve(map.size() + 1);  // and the pod's slot
  for (const auto& [name, quantity] : map) {
    const ResourceId resource = id_of(name);
    const std::int64_t amount = resource == kCpu ? quantity.ceil_millis() : quantity.ceil_units();
    if (amount != 0) amounts.push_back({resource, amount});
  }
  sort(amounts);
  return amounts;
}

std::int64_t amount_at(const api::ResourceMap& map, std::string_view name) {
  const auto found = map.find(name);
  if (found == map.end()) return 0;
  return name == "cpu" ? found->second.ceil_millis() : found->second.ceil_units();
}

// kube-scheduler gives floors to containers of a pod with pod-level requests while the pod waits. Once it has
// a place, they have floors only of what the whole pod asks nothing of.
enum class FloorsOf : std::uint8_t { Waiting, Placed };

// What the pod counts with in scores beyond `requests`, which are its own.
ResourceAmounts floors_beyond(const api::Pod& pod, const api::NodeAllocatableClaims& by_devices,
                              const api::ResourceMap& requests, FloorsOf of) {
  if (std::ranges::all_of(pod.containers, names_both) && std::ranges::all_of(pod.init_containers, names_both))
    return {};
  api::ResourceMap floors = {{"cpu", Quantity::millis(kCpuFloor)}, {"memory", Quantity::of(kMemoryFloor)}};
  if (of == FloorsOf::Placed && pod.pod_level_requests && !pod.pod_level_requests->empty())
    std::erase_if(floors, [&](const auto& floor) { return requests.contains(floor.first); });
  if (floors.empty()) return {};
  const api::ResourceMap scored = api::effective_requests(pod, by_devices, floors);
  ResourceAmounts beyond;
  for (const auto& [name, unasked] : {std::pair("cpu", kCpuUnasked), std::pair("memory", kMemoryUnasked)})
    if (const std::int64_t more = amount_at(scored, name) - amount_at(requests, name); more > 0)
      beyond.push_back({unasked, more});
  return beyond;
}

// Of nearly all pods the effective requests are those of the only container, without an addition.
bool asks_for_its_container(const api::Pod& pod, const api::NodeAllocatableClaims& by_devices) {
  return pod.containers.size() == 1 && pod.init_containers.empty() && pod.overhead.empty() &&
         by_devices.empty() && !pod.pod_level_requests && !pod.reported && !pod.resize_infeasible &&
         !pod.containers.front().reported;
}

template <class IdOf>
ResourceAmounts charges_by(const api::Pod& pod, const api::NodeAllocatableClaims& by_devices, IdOf id_of) {
  const bool simple = asks_for_its_container(pod, by_devices);
  const api::ResourceMap summed = simple ? api::ResourceMap() : api::effective_requests(pod, by_devices);
  const api::ResourceMap& requests = simple ? pod.containers.front().requests : summed;
  ResourceAmounts charges = amounts_by(requests, id_of);
  for (const ResourceAmount& floor : floors_beyond(pod, by_devices, requests, FloorsOf::Placed))
    charges.push_back(floor);
  charges.push_back({kPodSlots, 1});
  sort(charges);
  return charges;
}

}  // namespace

ResourceNames::ResourceNames() {
  for (const std::string_view name :
       {std::string_view("cpu"), std::string_view("memory"), std::string_view("ephemeral-storage"),
        std::string_view("pods"), kUnaskedCpuName, kUnaskedMemoryName, api::kGpuResource})
    names_.intern(name);
}

ResourceAmounts ResourceNames::charges(const api::Pod& pod, const api::NodeAllocatableClaims& by_devices) {
  return charges_by(pod, by_devices, [this](std::string_view name) { return names_.intern(name); });
}

ResourceAmounts ResourceNames::known_charges(const api::Pod& pod,
                                             const api::NodeAllocatableClaims& by_devices) const {
  return charges_by(pod, by_devices, [this](std::string_view name) {
    const ResourceId known = names_.find(name);
    BERTH_ASSERT(known.valid(), "the resources of a live pod and of devices in slices have ids");
    return known;
  });
}

ResourceAmounts ResourceNames::amounts(const api::ResourceMap& map) {
  return amounts_by(map, [this](std::string_view name) { return names_.intern(name); });
}

ResourceAmounts waiting_floors(const api::Pod& pod) {
  return floors_beyond(pod, {}, api::effective_requests(pod), FloorsOf::Waiting);
}

ResourceRow ResourceNames::row(const api::ResourceMap& map) {
  ResourceRow row;
  for (const ResourceAmount& entry : amounts(map)) row.at(entry.resource) = std::min(entry.amount, kOfferMax);
  return row;
}

}  // namespace berth::model
