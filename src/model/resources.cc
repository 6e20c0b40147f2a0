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

std::int64_t amount_of(const ResourceAmounts& amounts, ResourceId resource) {
  for (const ResourceAmount& one : amounts)
    if (one.resource == resource) return one.amount;
  return 0;
}

// Neither it nor a report of its node lacks an amount that has a floor.
bool names_both(const api::Container& container) {
  return container.requests.contains("cpu") && container.requests.contains("memory") && !container.reported;
}

template <class IdOf>
ResourceAmounts amounts_by(const api::ResourceMap& map, IdOf id_of) {
  ResourceAmounts amounts;
  for (const auto& [name, quantity] : map) {
    const ResourceId resource = id_of(name);
    const std::int64_t amount = resource == kCpu ? quantity.ceil_millis() : quantity.ceil_units();
    if (amount != 0) amounts.push_back({resource, amount});
  }
  sort(amounts);
  return amounts;
}

template <class IdOf>
ResourceAmounts charges_by(const api::Pod& pod, const api::NodeAllocatableClaims& by_devices, IdOf id_of) {
  ResourceAmounts charges = amounts_by(api::effective_requests(pod, by_devices), id_of);
  if (!std::all_of(pod.containers.begin(), pod.containers.end(), names_both) ||
      !std::all_of(pod.init_containers.begin(), pod.init_containers.end(), names_both)) {
    static const api::ResourceMap kFloors = {{"cpu", Quantity::millis(kCpuFloor)},
                                             {"memory", Quantity::of(kMemoryFloor)}};
    const ResourceAmounts scored = amounts_by(api::effective_requests(pod, by_devices, kFloors), id_of);
    for (const auto& [asked, unasked] : {std::pair(kCpu, kCpuUnasked), std::pair(kMemory, kMemoryUnasked)})
      if (const std::int64_t more = amount_of(scored, asked) - amount_of(charges, asked); more > 0)
        charges.push_back({unasked, more});
  }
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

ResourceRow ResourceNames::row(const api::ResourceMap& map) {
  ResourceRow row;
  for (const ResourceAmount& entry : amounts(map)) row.at(entry.resource) = std::min(entry.amount, kOfferMax);
  return row;
}

}  // namespace berth::model
