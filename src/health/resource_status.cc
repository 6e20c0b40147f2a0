#include "health/resource_status.h"

#include <algorithm>

#include "api/serialized.h"
#include "api/types/claim_consumer.h"

namespace berth::health {
namespace {

constexpr std::string_view kListField = "allocatedResourcesStatus";
constexpr std::string_view kClaimPrefix = "claim:";

const api::Allocation* allocation_of(const client::View& view, const api::Pod& pod,
                                     std::string_view pod_claim) {
  for (const api::PodClaim& claim : pod.claims)
    if (claim.name == pod_claim) return allocation_in(view, pod, api::claim_object_name(pod, claim));
  return nullptr;
}

bool is_own(std::string_view name, OwnEntries own) {
  return own == OwnEntries::All || name.starts_with(kClaimPrefix);
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

std::string_view base_request(const api::DeviceResult& result) {
  return std::string_view(result.request).substr(0, result.request.find('/'));
}

std::vector<std::string> claim_names(const api::Pod& pod) {
  std::vector<std::string> names;
  for (const api::PodClaim& claim : pod.claims) names.push_back(api::claim_object_name(pod, claim));
  if (!pod.extended_claim.empty()) names.push_back(pod.extended_claim);
  std::erase(names, "");  // templates without a claim
  return names;
}

const api::ResourceClaim* claim_in(const client::View& view, const api::Pod& pod, std::string_view claim) {
  const api::ResourceClaim* object = view.claims.find(pod.meta.ns, std::string(claim));
  return object && object->allocation && api::is_reserved_for(*object, pod) ? object : nullptr;
}

const api::Allocation* allocation_in(const client::View& view, const api::Pod& pod, std::string_view claim) {
  const api::ResourceClaim* object = claim_in(view, pod, claim);
  return object ? &*object->allocation : nullptr;
}

std::vector<ExtendedRequest> extended_requests(const api::Pod& pod) {
  std::vector<ExtendedRequest> requests;
  if (pod.extended_claim.empty()) return requests;
  const Result<Json> object = api::parse_object(*pod.raw);
  if (!object) return requests;
  const Json& told = object->part("status").part("extendedResourceClaimStatus");
  for (const Json& mapping : told.items_at("requestMappings"))
    requests.push_back({std::string(mapping.string_at("containerName")),
                        std::string(mapping.string_at("resourceName")),
                        std::string(mapping.string_at("requestName"))});
  return requests;
}

ResourceStatus wanted_status(const client::View& view, const api::Pod& pod, const api::Container& container,
                             const HealthSnapshot& health) {
  ResourceStatus wanted;
  for (const api::ContainerClaim& named : container.claims)
    if (const api::Allocation* allocation = allocation_of(view, pod, named.name))
      add_claim(wanted, *allocation, named, health);
  if (!pod.extended_claim.empty())
    if (const api::Allocation* allocation = allocation_in(view, pod, pod.extended_claim))
      for (const ExtendedRequest& request : extended_requests(pod))
        if (request.container == container.name)
          add_claim(wanted, *allocation, {pod.extended_claim, request.request}, health);
  if (const auto held = health.held.find({pod.meta.uid, container.name}); held != health.held.end())
    for (const auto& [resource, devices] : held->second)
      for (const std::string& id : devices.ids) wanted[resource][id] = health.of_resource(resource, id);
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

ResourceStatus own_entries(const Json& status, OwnEntries own) {
  ResourceStatus entries;
  for (const Json& entry : status.items_at(kListField)) {
    const std::string name(entry.string_at("name"));
    if (!is_own(name, own)) continue;
    auto& resources = entries[name];
    for (const Json& item : entry.items_at("resources"))
      resources[std::string(item.string_at("resourceID"))] = {parse_health(item.string_at("health")),
                                                              std::string(item.string_at("message"))};
  }
  return entries;
}

void set_own_entries(Json& status, const ResourceStatus& wanted, OwnEntries own) {
  std::map<std::string, Json> entries;
  for (const Json& entry : status.items_at(kListField)) {
    const std::string name(entry.string_at("name"));
    if (!is_own(name, own)) entries.emplace(name, entry);
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
  for (const std::string& claim : claim_names(pod))
    if (const api::Allocation* allocation = allocation_in(view, pod, claim))
      for (const api::DeviceResult& result : allocation->results)
        if (health.of(result.driver, {result.pool, result.device}).health == Health::Unhealthy) return true;
  for (auto held = health.held.lower_bound({pod.meta.uid, ""});
       held != health.held.end() && held->first.pod_uid == pod.meta.uid; ++held)
    for (const auto& [resource, devices] : held->second)
      for (const std::string& id : devices.ids)
        if (health.of_resource(resource, id).health == Health::Unhealthy) return true;
  return false;
}

}  // namespace berth::health
