#include "health/resource_status.h"

#include <algorithm>

#include "api/types/claim_consumer.h"

namespace berth::health {
namespace {

constexpr std::string_view kListField = "allocatedResourcesStatus";
constexpr std::string_view kClaimPrefix = "claim:";

const api::Allocation* allocation_of(const client::View& view, const api::Pod& pod,
                                     std::string_view pod_claim) {
  for (const api::PodClaim& claim : pod.claims) {
    if (claim.name != pod_claim) continue;
    const api::ResourceClaim* object = view.claims.find(pod.meta.ns, api::claim_object_name(pod, claim));
    const bool ours = object && object->allocation && api::is_reserved_for(*object, pod);
    return ours ? &*object->allocation : nullptr;
  }
  return nullptr;
}

// The request of a result, without the chosen alternative.
std::string_view base_request(const api::DeviceResult& result) {
  return std::string_view(result.request).substr(0, result.request.find('/'));
}

void add_claim(ResourceStatus& wanted, const api::Allocation& allocation, const api::ContainerClaim& named,
               const HealthSnapshot& health) {
  std::string name = std::string(kClaimPrefix) + named.name;
  if (!named.request.empty()) name.append("/").append(named.request);
  for (const api::DeviceResult& result : allocation.results) {
    if (!named.request.empty() && base_request(result) != named.request) continue;
    DeviceHealth found = health.of(result.driver, {result.pool, result.device});
    const std::string id = result.driver + "/" + result.pool + "/" + result.device;
    const auto [at, is_new] = wanted[name].try_emplace(id, found);
    if (!is_new && found.health > at->second.health) at->second = std::move(found);
  }
}

Json entry_json(const std::string& name, const std::map<std::string, DeviceHealth>& resources) {
  JsonArray items;
  for (const auto& [id, health] : resources) {
    Json item = Json::object({{"resourceID", id}, {"health", name_of(health.health)}});
    if (!health.message.empty()) item["message"] = health.message;
    items.push_back(std::move(item));
  }
  return Json::object({{"name", name}, {"resources", std::move(items)}});
}

Health parse_health(std::string_view text) {
  for (const Health health : {Health::Healthy, Health::Unhealthy})
    if (name_of(health) == text) return health;
  return Health::Unknown;
}

}  // namespace

ResourceStatus wanted_status(const client::View& view, const api::Pod& pod, const api::Container& container,
                             const HealthSnapshot& health) {
  ResourceStatus wanted;
  for (const api::ContainerClaim& named : container.claims)
    if (const api::Allocation* allocation = allocation_of(view, pod, named.name))
      add_claim(wanted, *allocation, named, health);
  return wanted;
}

ResourceStatus wanted_pod_level_status(const client::View& view, const api::Pod& pod,
                                       const HealthSnapshot& health) {
  const auto names = [](const std::vector<api::Container>& containers, const std::string& claim) {
    for (const api::Container& container : containers)
      for (const api::ContainerClaim& named : container.claims)
        if (named.name == claim) return true;
    return false;
  };
  ResourceStatus wanted;
  for (const api::PodClaim& claim : pod.claims) {
    if (names(pod.containers, claim.name) || names(pod.init_containers, claim.name)) continue;
    if (const api::Allocation* allocation = allocation_of(view, pod, claim.name))
      add_claim(wanted, *allocation, {claim.name, ""}, health);
  }
  return wanted;
}

ResourceStatus claim_entries(const Json& status) {
  ResourceStatus entries;
  for (const Json& entry : status.items_at(kListField)) {
    const std::string name(entry.string_at("name"));
    if (!name.starts_with(kClaimPrefix)) continue;
    auto& resources = entries[name];
    for (const Json& item : entry.items_at("resources"))
      resources[std::string(item.string_at("resourceID"))] = {parse_health(item.string_at("health")),
                                                              std::string(item.string_at("message"))};
  }
  return entries;
}

void set_claim_entries(Json& status, const ResourceStatus& wanted) {
  std::map<std::string, Json> entries;
  for (const Json& entry : status.items_at(kListField)) {
    const std::string name(entry.string_at("name"));
    if (!name.starts_with(kClaimPrefix)) entries.emplace(name, entry);
  }
  for (const auto& [name, resources] : wanted) entries.emplace(name, entry_json(name, resources));
  JsonArray list;
  for (auto& [name, entry] : entries) list.push_back(std::move(entry));
  if (list.empty())
    status.as_object().erase(kListField);
  else
    status[kListField] = std::move(list);
}

bool has_sick_device(const client::View& view, const api::Pod& pod, const HealthSnapshot& health) {
  for (const api::PodClaim& claim : pod.claims) {
    const api::Allocation* allocation = allocation_of(view, pod, claim.name);
    if (!allocation) continue;
    for (const api::DeviceResult& result : allocation->results)
      if (health.of(result.driver, {result.pool, result.device}).health == Health::Unhealthy) return true;
  }
  return false;
}

}  // namespace berth::health
