// The Endpoints of Services with a selector. Source: pkg/controller/endpoint of kube-controller-manager 1.37.
#include <algorithm>

#include "controllers/controllers.h"
#include "controllers/endpoint_objects.h"
#include "controllers/service_pods.h"
#include "workloads/objects.h"

namespace berth::controllers {
namespace {

using workloads::Parsed;

constexpr std::string_view kEndpointsManagedBy = "endpoints.kubernetes.io/managed-by";
constexpr std::string_view kEndpointsManager = "endpoint-controller";
constexpr std::string_view kOverCapacity = "endpoints.kubernetes.io/over-capacity";
// Addresses of one object; further ones are left out.
constexpr std::size_t kEndpointsAddressesMax = 1000;

// Pods of a Service with the same ports.
struct Subset {
  JsonArray ports;
  JsonArray ready, not_ready;
};

std::string_view family_of_service(const Json& spec, const EndpointPod& pod) {
  const JsonArray& families = spec.items_at("ipFamilies");
  if (!families.empty() && families.front().is_string()) return families.front().as_string();
  return family_of(is_headless(spec) ? pod.addresses.front() : spec.string_at("clusterIP"));
}

// Null for a pod without an address of the Service's family.
Json address_of(const EndpointPod& pod, const Parsed& service) {
  const std::string_view family = family_of_service(service.spec(), pod);
  const auto ip = std::find_if(pod.addresses.begin(), pod.addresses.end(),
                               [&](const std::string& one) { return family_of(one) == family; });
  if (ip == pod.addresses.end()) return {};
  Json address = Json::object({{"ip", *ip}});
  if (Json hostname = hostname_in(pod, service.meta.name); !hostname.is_null())
    address["hostname"] = std::move(hostname);
  if (!pod.node.empty()) address["nodeName"] = pod.node;
  address["targetRef"] = pod_reference(pod, service.meta.ns);
  return address;
}

std::vector<Subset> subsets_of(const ServicePods::ByName& pods, const Parsed& service) {
  const bool publishes_all = service.spec().bool_at("publishNotReadyAddresses");
  const bool portless = service.spec().items_at("ports").empty();
  std::vector<Subset> subsets;
  for (const auto& [name, pod] : pods) {
    if (pod->terminating && !publishes_all) continue;
    Json address = address_of(*pod, service);
    JsonArray ports = endpoint_ports(*pod, service.spec());
    if (address.is_null() || (ports.empty() && !(portless && is_headless(service.spec())))) continue;
    auto subset =
        std::find_if(subsets.begin(), subsets.end(), [&](const Subset& one) { return one.ports == ports; });
    if (subset == subsets.end()) subset = subsets.insert(subset, {std::move(ports), {}, {}});
    (pod->ready || publishes_all ? subset->ready : subset->not_ready).push_back(std::move(address));
  }
  return subsets;
}

// Ready addresses go first. True when some were left out.
bool truncate(std::vector<Subset>& subsets) {
  std::size_t room = kEndpointsAddressesMax;
  bool cut = false;
  for (JsonArray Subset::* addresses : {&Subset::ready, &Subset::not_ready})
    for (Subset& subset : subsets) {
      JsonArray& all = subset.*addresses;
      cut |= all.size() > room;
      all.resize(std::min(all.size(), room));
      room -= all.size();
    }
  std::erase_if(subsets, [](const Subset& one) { return one.ready.empty() && one.not_ready.empty(); });
  return cut;
}

Json subsets_json(const std::vector<Subset>& subsets) {
  JsonArray all;
  for (const Subset& subset : subsets) {
    Json json = Json::object();
    if (!subset.ready.empty()) json["addresses"] = subset.ready;
    if (!subset.not_ready.empty()) json["notReadyAddresses"] = subset.not_ready;
    JsonArray ports = subset.ports;
    // Unlike in an EndpointSlice, an empty name is absent.
    for (Json& port : ports)
      if (std::as_const(port).string_at("name").empty()) port.as_object().erase("name");
    if (!ports.empty()) json["ports"] = std::move(ports);
    all.push_back(std::move(json));
  }
  return all;
}

class Endpoints final : public client::Reconciler {
 public:
  std::string_view name() const override { return "endpoints-controller"; }

  std::vector<client::Interest> interests() const override {
    std::vector<client::Interest> interests = pods_.interests();
    interests.push_back({Kind::Other, endpoints_resource(), [](const View&, const Delta& delta, Keys& keys) {
                           keys.push_back(workloads::key_in(services(), delta.key.ns, delta.key.name));
                         }});
    interests.push_back({Kind::Other, services(), [this](const View&, const Delta& delta, Keys&) {
                           if (!delta.after) gone_.insert(delta.key);
                         }});
    return interests;
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    const auto service = workloads::find_parsed(view, key);
    const api::ObjectKey own_key = workloads::key_in(endpoints_resource(), key.ns, key.name);
    if (!service) return remove(view, own_key, gone_.erase(key) > 0);
    gone_.erase(key);
    const Json& spec = service->spec();
    if (!spec.find("selector") || spec.string_at("type") == "ExternalName" || service->meta.deleting())
      return Effects::nothing();
    Effects effects;
    if (const auto rest = pods_.rests_until(key, now)) {
      effects.wake_at = rest;
      return effects;
    }
    std::vector<Subset> subsets = subsets_of(pods_.pods_of(key), *service);
    const bool cut = truncate(subsets);
    if (auto write = write_of(view, *service, own_key, subsets_json(subsets), cut))
      effects.chains.push_back({own_key, {std::move(*write)}});
    return effects;
  }

 private:
  // Those of a Service that was seen to go, and those that this controller made. Others that have no Service
  // are somebody's own.
  static Effects remove(const View& view, const api::ObjectKey& key, bool service_went) {
    const api::AnyObject* standing = workloads::find_other(view, key.resource, key.ns, key.name);
    if (!standing) return Effects::nothing();
    const auto manager = standing->meta.labels.find(kEndpointsManagedBy);
    const bool ours = manager != standing->meta.labels.end() && manager->second == kEndpointsManager;
    if (!ours && !service_went) return Effects::nothing();
    return Effects::write(key, client::delete_object(key, standing->meta.uid));
  }

  static std::optional<client::Write> write_of(const View& view, const Parsed& service,
                                               const api::ObjectKey& key, Json subsets, bool cut) {
    api::StringMap labels = labels_from(service);
    labels[std::string(kEndpointsManagedBy)] = kEndpointsManager;
    const auto standing = workloads::find_parsed(view, key);
    Json next = standing
                    ? standing->document
                    : Json::object({{"apiVersion", "v1"},
                                    {"kind", "Endpoints"},
                                    {"metadata", Json::object({{"name", key.name}, {"namespace", key.ns}})}});
    if (standing && standing->meta.labels == labels &&
        Json(standing->document.items_at("subsets")) == subsets &&
        !standing->meta.annotation(kOverCapacity).empty() == cut)
      return std::nullopt;
    next["subsets"] = std::move(subsets);
    next["metadata"]["labels"] = api::to_json(labels);
    if (cut)
      next["metadata"]["annotations"][kOverCapacity] = "truncated";
    else if (Json* annotations = next["metadata"].find("annotations"))
      annotations->as_object().erase(kOverCapacity);
    return standing ? workloads::replace_other(key, next) : workloads::create_other(key.resource, next);
  }

  ServicePods pods_;
  mutable std::set<api::ObjectKey> gone_;  // Services that went and whose key has not run since
};

}  // namespace

const api::ResourceRef& endpoints_resource() {
  static const api::ResourceRef kRef{"", "v1", "endpoints"};
  return kRef;
}

std::unique_ptr<client::Reconciler> make_endpoints() {
  return std::make_unique<Endpoints>();
}

}  // namespace berth::controllers
