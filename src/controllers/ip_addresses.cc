// An IPAddress object for each address of a Service, and none for addresses that no Service has any more.
//
// Source: pkg/registry/core/service/ipallocator of Kubernetes 1.37, where the API server keeps them.
#include <algorithm>
#include <utility>

#include "controllers/controllers.h"
#include "controllers/service_pods.h"
#include "workloads/objects.h"

namespace berth::controllers {
namespace {

using workloads::Parsed;

constexpr std::string_view kFamilyLabel = "ipaddress.kubernetes.io/ip-family";
constexpr std::string_view kAddressManagedByLabel = "ipaddress.kubernetes.io/managed-by";
constexpr std::string_view kAllocator = "ipallocator.k8s.io";
// After this time a Service looks again whether an address that it has still is that of another Service.
constexpr Duration kOtherOwnerWait = Duration::seconds(10);

const api::ResourceRef& ip_addresses() {
  static const api::ResourceRef kRef{"networking.k8s.io", "v1", "ipaddresses"};
  return kRef;
}

std::vector<std::string> addresses_of(const Parsed& service) {
  std::vector<std::string> addresses;
  if (service.spec().string_at("type") == "ExternalName") return addresses;
  for (const Json& address : service.spec().items_at("clusterIPs"))
    if (address.is_string() && !address.as_string().empty() && address.as_string() != "None")
      addresses.push_back(address.as_string());
  return addresses;
}

Json address_object(const std::string& address, const Parsed& service) {
  Json metadata =
      Json::object({{"name", address},
                    {"labels", Json::object({{std::string(kFamilyLabel), family_of(address)},
                                             {std::string(kAddressManagedByLabel), kAllocator}})}});
  Json parent = Json::object(
      {{"group", ""}, {"resource", "services"}, {"namespace", service.meta.ns}, {"name", service.meta.name}});
  return Json::object({{"apiVersion", "networking.k8s.io/v1"},
                       {"kind", "IPAddress"},
                       {"metadata", std::move(metadata)},
                       {"spec", Json::object({{"parentRef", std::move(parent)}})}});
}

// Its Service, where the allocator of Services made it.
std::optional<api::ObjectKey> service_of(const Parsed& address) {
  const auto manager = address.meta.labels.find(kAddressManagedByLabel);
  if (manager == address.meta.labels.end() || manager->second != kAllocator) return std::nullopt;
  const Json& parent = address.spec().part("parentRef");
  return workloads::key_in(services(), parent.string_at("namespace"), parent.string_at("name"));
}

// A Service wakes itself, and the addresses that it had.
void wake_by_service(const View&, const Delta& delta, Keys& keys) {
  keys.push_back(delta.key);
  const api::AnyObject* const before = client::object_of<api::AnyObject>(delta.before);
  const auto service = before ? workloads::parse_other(delta.key, *before) : std::nullopt;
  if (!service) return;
  for (const std::string& address : addresses_of(*service))
    keys.push_back(workloads::key_in(ip_addresses(), "", address));
}

// An address wakes itself, and the Service that it was made for.
void wake_by_address(const View&, const Delta& delta, Keys& keys) {
  keys.push_back(delta.key);
  const api::AnyObject* const before = client::object_of<api::AnyObject>(delta.before);
  const auto address = before ? workloads::parse_other(delta.key, *before) : std::nullopt;
  if (const auto service = address ? service_of(*address) : std::nullopt) keys.push_back(*service);
}

class IpAddresses final : public client::Reconciler {
 public:
  std::string_view name() const override { return "ip-addresses"; }
  std::vector<client::Interest> interests() const override {
    return {{Kind::Other, services(), wake_by_service}, {Kind::Other, ip_addresses(), wake_by_address}};
  }
  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    return key.resource == services() ? of_service(view, key, now) : of_address(view, key);
  }

 private:
  // Makes what is missing. An address of another Service is left alone: it goes by its own key when that one
  // does not have it any more.
  static Effects of_service(const View& view, const api::ObjectKey& key, Time now) {
    Effects effects;
    const auto service = workloads::find_parsed(view, key);
    if (!service || service->meta.deleting()) return effects;
    for (const std::string& address : addresses_of(*service)) {
      const api::ObjectKey address_key = workloads::key_in(ip_addresses(), "", address);
      if (const auto standing = workloads::find_parsed(view, address_key)) {
        const auto owner = service_of(*standing);
        if (owner && *owner != key) effects.wake_at = now + kOtherOwnerWait;
        continue;
      }
      client::Write made = workloads::create_other(ip_addresses(), address_object(address, *service));
      made.fine_reasons = {"AlreadyExists"};
      effects.chains.push_back({address_key, {}});
      effects.then(std::move(made));
    }
    return effects;
  }

  static Effects of_address(const View& view, const api::ObjectKey& key) {
    const auto address = workloads::find_parsed(view, key);
    const auto owner = address ? service_of(*address) : std::nullopt;
    if (!owner || address->meta.deleting()) return Effects::nothing();
    const auto service = workloads::find_parsed(view, *owner);
    const std::vector<std::string> used = service ? addresses_of(*service) : std::vector<std::string>();
    if (std::find(used.begin(), used.end(), key.name) != used.end()) return Effects::nothing();
    return Effects::write(key, client::delete_object(key, address->meta.uid));
  }
};

}  // namespace

std::unique_ptr<client::Reconciler> make_ip_addresses() {
  return std::make_unique<IpAddresses>();
}

}  // namespace berth::controllers
