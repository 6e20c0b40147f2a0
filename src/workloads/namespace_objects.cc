#include "workloads/objects.h"
#include "workloads/workloads.h"

namespace berth::workloads {
namespace {

constexpr const char* kRootCaName = "kube-root-ca.crt";

const api::ResourceRef& service_accounts() {
  static const api::ResourceRef kRef{"", "v1", "serviceaccounts"};
  return kRef;
}
const api::ResourceRef& config_maps() {
  static const api::ResourceRef kRef{"", "v1", "configmaps"};
  return kRef;
}

// Wakes the namespace of an object of this name.
client::Interest in_namespace(const api::ResourceRef& resource, std::string name) {
  return {Kind::Other, resource, [name = std::move(name)](const View&, const Delta& delta, Keys& keys) {
            if (delta.key.name == name) keys.push_back({Kind::Namespace, "", delta.key.ns, {}});
          }};
}

// The namespace that `key` names, unless it is on its way out.
bool is_living(const View& view, const api::ObjectKey& key) {
  const api::Namespace* ns = view.namespaces.find("", key.name);
  return ns && !ns->meta.deleting() && ns->phase != "Terminating";
}

Json object_in(const std::string& ns, const char* kind, const char* name) {
  return Json::object({{"apiVersion", "v1"},
                       {"kind", kind},
                       {"metadata", Json::object({{"name", name}, {"namespace", ns}})}});
}

client::Write create_once(const api::ResourceRef& resource, const Json& object) {
  client::Write write = create_other(resource, object);
  write.fine_reasons = {"AlreadyExists"};
  return write;
}

class ServiceAccount final : public client::Reconciler {
 public:
  std::string_view name() const override { return "serviceaccount-controller"; }
  std::vector<client::Interest> interests() const override {
    return {client::itself(Kind::Namespace), in_namespace(service_accounts(), "default")};
  }
  Effects reconcile(const View& view, const api::ObjectKey& key, Time) override {
    if (!is_living(view, key) || find_other(view, service_accounts(), key.name, "default"))
      return Effects::nothing();
    return Effects::write(key_in(service_accounts(), key.name, "default"),
                          create_once(service_accounts(), object_in(key.name, "ServiceAccount", "default")));
  }
};

class RootCa final : public client::Reconciler {
 public:
  explicit RootCa(std::string certificate) : certificate_(std::move(certificate)) {}

  std::string_view name() const override { return kRootCaPublisher.name; }
  std::vector<client::Interest> interests() const override {
    return {client::itself(Kind::Namespace), in_namespace(config_maps(), kRootCaName)};
  }
  Effects reconcile(const View& view, const api::ObjectKey& key, Time) override {
    if (!is_living(view, key)) return Effects::nothing();
    const api::ObjectKey map_key = key_in(config_maps(), key.name, kRootCaName);
    const Json data = Json::object({{"ca.crt", certificate_}});
    const auto standing = find_parsed(view, map_key);
    if (!standing) {
      Json map = object_in(key.name, "ConfigMap", kRootCaName);
      map["data"] = data;
      return Effects::write(map_key, create_once(config_maps(), map));
    }
    if (standing->document.part("data") == data || standing->meta.deleting()) return Effects::nothing();
    Json whole = standing->document;
    whole["data"] = data;
    return Effects::write(map_key, replace_other(map_key, whole));
  }

 private:
  const std::string certificate_;
};

}  // namespace

std::unique_ptr<client::Reconciler> make_service_account() {
  return std::make_unique<ServiceAccount>();
}

std::unique_ptr<client::Reconciler> make_root_ca_publisher(std::string certificate) {
  return std::make_unique<RootCa>(std::move(certificate));
}

}  // namespace berth::workloads
