// The EndpointSlices of Services with a selector. Source: k8s.io/endpointslice 1.37.
#include <algorithm>

#include "controllers/controllers.h"
#include "controllers/endpoint_objects.h"
#include "controllers/service_pods.h"

namespace berth::controllers {
namespace {

using workloads::Parsed;

constexpr std::string_view kSliceManager = "endpointslice-controller.k8s.io";
constexpr std::string_view kZoneLabel = "topology.kubernetes.io/zone";

std::vector<std::string> address_types(const Json& spec) {
  std::vector<std::string> types;
  for (const Json& family : spec.items_at("ipFamilies"))
    if (family.is_string()) types.push_back(family.as_string());
  if (types.empty()) types.emplace_back(is_headless(spec) ? "IPv4" : family_of(spec.string_at("clusterIP")));
  return types;
}

std::string_view zone_of(const api::Node* node) {
  if (!node) return {};
  const auto zone = node->meta.labels.find(kZoneLabel);
  return zone == node->meta.labels.end() ? std::string_view() : std::string_view(zone->second);
}

Json endpoint_of(const EndpointPod& pod, const api::Node* node, const Parsed& service, JsonArray addresses) {
  const bool publishes_all = service.spec().bool_at("publishNotReadyAddresses");
  Json endpoint =
      Json::object({{"addresses", std::move(addresses)},
                    {"conditions", Json::object({{"ready", publishes_all || (pod.ready && !pod.terminating)},
                                                 {"serving", pod.ready},
                                                 {"terminating", pod.terminating}})}});
  if (Json hostname = hostname_in(pod, service.meta.name); !hostname.is_null())
    endpoint["hostname"] = std::move(hostname);
  endpoint["targetRef"] = pod_reference(pod, service.meta.ns);
  if (!pod.node.empty()) endpoint["nodeName"] = pod.node;
  if (const std::string_view zone = zone_of(node); !zone.empty()) endpoint["zone"] = zone;
  return endpoint;
}

std::vector<EndpointGroup> groups_of(const View& view, const ServicePods::ByName& pods, const Parsed& service,
                                     const std::string& type) {
  std::vector<EndpointGroup> groups;
  for (const auto& [name, pod] : pods) {
    const api::Node* node = view.nodes.find("", pod->node);
    // pod-gc ends a pod whose node is absent.
    if (!node && !service.spec().bool_at("publishNotReadyAddresses")) continue;
    JsonArray addresses;
    for (const std::string& address : pod->addresses)
      if (family_of(address) == type) addresses.emplace_back(address);
    if (addresses.empty()) continue;
    JsonArray ports = endpoint_ports(*pod, service.spec());
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const EndpointGroup& one) { return one.ports == ports; });
    if (group == groups.end()) group = groups.insert(group, {type, std::move(ports), {}});
    group->endpoints.push_back(endpoint_of(*pod, node, service, std::move(addresses)));
  }
  return groups;
}

api::StringMap labels_of(const Parsed& service) {
  api::StringMap labels = labels_from(service);
  labels[std::string(kServiceNameLabel)] = service.meta.name;
  labels[std::string(kSliceManagedByLabel)] = kSliceManager;
  return labels;
}

class EndpointSlices final : public client::Reconciler {
 public:
  std::string_view name() const override { return "endpointslice-controller"; }

  std::vector<client::Interest> interests() const override {
    std::vector<client::Interest> interests = pods_.interests();
    interests.push_back(slice_wakes(services(), "Service"));
    interests.push_back({Kind::Node, {}, [this](const View& view, const Delta& delta, Keys& keys) {
                           const auto* before = client::object_of<api::Node>(delta.before);
                           const auto* after = client::object_of<api::Node>(delta.after);
                           if (before && after && zone_of(before) == zone_of(after)) return;
                           pods_.services_on_node(view, delta.key.name, keys);
                         }});
    return interests;
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    // The slices of a Service that is gone are the garbage collector's.
    const auto service = workloads::find_parsed(view, key);
    if (!service || service->meta.deleting()) return Effects::nothing();
    const Json& spec = service->spec();
    if (!spec.find("selector") || spec.string_at("type") == "ExternalName") return Effects::nothing();
    Effects effects;
    if (const auto rest = pods_.rests_until(key, now)) {
      effects.wake_at = rest;
      return effects;
    }
    WantedSlices wanted;
    wanted.owner = workloads::controller_reference(*service, "v1", "Service");
    wanted.ns = key.ns;
    wanted.labels = labels_of(*service);
    wanted.placeholder_types = address_types(spec);
    for (const std::string& type : wanted.placeholder_types)
      for (EndpointGroup& group : groups_of(view, pods_.pods_of(key), *service, type))
        wanted.groups.push_back(std::move(group));
    write_slices(view, wanted, effects);
    return effects;
  }

 private:
  ServicePods pods_;
};

}  // namespace

std::unique_ptr<client::Reconciler> make_endpoint_slices() {
  return std::make_unique<EndpointSlices>();
}

}  // namespace berth::controllers
