// EndpointSlices of Endpoints that people write for a Service without a selector.
// Source: pkg/controller/endpointslicemirroring of kube-controller-manager 1.37.
#include "controllers/controllers.h"
#include "controllers/endpoint_objects.h"
#include "controllers/service_pods.h"

namespace berth::controllers {
namespace {

using workloads::Parsed;

constexpr std::string_view kMirrorManager = "endpointslicemirroring-controller.k8s.io";
constexpr std::string_view kSkipMirrorLabel = "endpointslice.kubernetes.io/skip-mirror";
constexpr std::string_view kLeaderAnnotation = "control-plane.alpha.kubernetes.io/leader";
// What belongs to the Endpoints alone.
constexpr std::string_view kOwnAnnotations[] = {"endpoints.kubernetes.io/last-change-trigger-time",
                                                "kubectl.kubernetes.io/last-applied-configuration"};
// Addresses of one subset, and of one slice.
constexpr std::size_t kMirroredAddressesMax = 1000;

bool is_mirrored(const View& view, const Parsed& endpoints) {
  const auto skip = endpoints.meta.labels.find(kSkipMirrorLabel);
  const bool skipped = skip != endpoints.meta.labels.end() && skip->second == "true";
  if (skipped || endpoints.meta.annotations.contains(kLeaderAnnotation)) return false;
  const auto service =
      workloads::find_parsed(view, workloads::key_in(services(), endpoints.key.ns, endpoints.key.name));
  return service && !service->spec().find("selector");
}

JsonArray mirrored_ports(const Json& subset) {
  JsonArray ports = subset.items_at("ports");
  for (Json& port : ports)
    if (!std::as_const(port).find("name")) port["name"] = "";
  return ports;
}

Json mirrored_endpoint(const Json& address, bool ready) {
  Json endpoint = Json::object({{"addresses", Json::array({address.string_at("ip")})},
                                {"conditions", Json::object({{"ready", ready}})}});
  for (const std::string_view member : {"hostname", "nodeName", "targetRef"})
    if (const Json* value = address.find(member)) endpoint[member] = *value;
  return endpoint;
}

// False when addresses were left out.
bool add_groups(const Json& subset, std::vector<EndpointGroup>& groups) {
  const JsonArray ports = mirrored_ports(subset);
  std::size_t room = kMirroredAddressesMax;
  for (const auto& [member, ready] : {std::pair("addresses", true), std::pair("notReadyAddresses", false)})
    for (const Json& address : subset.items_at(member)) {
      if (room-- == 0) return false;
      const std::string_view type = family_of(address.string_at("ip"));
      auto group = std::find_if(groups.begin(), groups.end(), [&](const EndpointGroup& one) {
        return one.address_type == type && one.ports == ports;
      });
      if (group == groups.end()) group = groups.insert(group, {std::string(type), ports, {}});
      group->endpoints.push_back(mirrored_endpoint(address, ready));
    }
  return true;
}

class EndpointSliceMirroring final : public client::Reconciler {
 public:
  std::string_view name() const override { return "endpointslice-mirroring-controller"; }

  std::vector<client::Interest> interests() const override {
    const auto same_name = [](const View&, const Delta& delta, Keys& keys) {
      keys.push_back(workloads::key_in(endpoints_resource(), delta.key.ns, delta.key.name));
    };
    return {{Kind::Other, endpoints_resource(), same_name},
            {Kind::Other, services(), same_name},
            slice_wakes(endpoints_resource(), "Endpoints")};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time) override {
    const auto endpoints = workloads::find_parsed(view, key);
    // Slices of Endpoints that are gone are the garbage collector's.
    if (!endpoints || endpoints->meta.deleting()) return Effects::nothing();
    WantedSlices wanted;
    wanted.owner = workloads::controller_reference(*endpoints, "v1", "Endpoints");
    wanted.ns = key.ns;
    wanted.endpoints_per_slice_max = kMirroredAddressesMax;
    Effects effects;
    if (is_mirrored(view, *endpoints)) {
      wanted.labels = endpoints->meta.labels;
      wanted.labels[std::string(kServiceNameLabel)] = key.name;
      wanted.labels[std::string(kSliceManagedByLabel)] = kMirrorManager;
      wanted.annotations = endpoints->meta.annotations;
      for (const std::string_view own : kOwnAnnotations) wanted.annotations.erase(std::string(own));
      bool whole = true;
      for (const Json& subset : endpoints->document.items_at("subsets"))
        whole &= add_groups(subset, wanted.groups);
      if (!whole)
        effects.events.push_back(workloads::event_about(
            *endpoints, true, "TooManyAddressesToMirror",
            "A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset."));
    }
    write_slices(view, wanted, effects);
    return effects;
  }
};

}  // namespace

std::unique_ptr<client::Reconciler> make_endpoint_slice_mirroring() {
  return std::make_unique<EndpointSliceMirroring>();
}

}  // namespace berth::controllers
