#include "controllers/service_pods.h"

#include <algorithm>
#include <set>

#include "api/serialized.h"
#include "workloads/objects.h"
#include "workloads/owned_pods.h"

namespace berth::controllers {
namespace {

constexpr Duration kRestPerEndpoint = Duration::micros(50);
constexpr std::size_t kPodsWithoutRest = 500;

// Of everything where the Service has none.
api::LabelSelector selector_of(const api::AnyObject& service) {
  const Result<Json> document = api::parse_object(*service.raw, api::ManagedFields::Skip);
  const Json* written = document ? document->part("spec").find("selector") : nullptr;
  api::LabelSelector selector;
  for (auto& [key, value] : api::decode_string_map(written))
    selector.also_requires(key, api::LabelOperator::In, value);
  return selector;
}

void add_named_ports(const Json& container, std::vector<NamedPort>& ports) {
  for (const Json& port : container.items_at("ports"))
    if (const std::string_view name = port.string_at("name"); !name.empty())
      ports.push_back(
          {std::string(name), std::string(port.string_at("protocol")), port.int_at("containerPort")});
}

// Null for a pod without an address, and for one that has ended.
EndpointPodPtr endpoint_pod(const api::Pod& pod) {
  if (pod.finished()) return nullptr;
  const Result<Json> document = api::parse_object(*pod.raw, api::ManagedFields::Skip);
  if (!document) return nullptr;
  const Json &spec = document->part("spec"), &status = document->part("status");
  EndpointPod found;
  for (const Json& ip : status.items_at("podIPs")) found.addresses.emplace_back(ip.string_at("ip"));
  if (found.addresses.empty()) return nullptr;
  found.name = pod.meta.name;
  found.uid = pod.meta.uid;
  found.node = pod.node_name;
  found.hostname = spec.string_at("hostname");
  found.subdomain = spec.string_at("subdomain");
  for (const Json& container : spec.items_at("containers")) add_named_ports(container, found.ports);
  for (const Json& container : spec.items_at("initContainers"))
    if (container.string_at("restartPolicy") == "Always") add_named_ports(container, found.ports);
  found.ready = workloads::is_ready(pod);
  found.terminating = pod.meta.deleting();
  return std::make_shared<const EndpointPod>(std::move(found));
}

bool says_the_same(const EndpointPodPtr& a, const EndpointPodPtr& b) {
  return a == b || (a && b && *a == *b);
}

}  // namespace

const api::ResourceRef& services() {
  static const api::ResourceRef kRef{"", "v1", "services"};
  return kRef;
}

std::vector<client::Interest> ServicePods::interests() const {
  return {{Kind::Other, services(),
           [this](const View& view, const Delta& delta, Keys& keys) { on_service(view, delta, keys); }},
          {Kind::Pod, {}, [this](const View&, const Delta& delta, Keys& keys) { on_pod(delta, keys); }}};
}

const ServicePods::ByName& ServicePods::pods_of(const api::ObjectKey& service) const {
  static const ByName kNone;
  const Service* known = find(service);
  return known ? known->pods : kNone;
}

ServicePods::Service* ServicePods::find(const api::ObjectKey& service) const {
  const auto in_namespace = services_.find(service.ns);
  if (in_namespace == services_.end()) return nullptr;
  const auto found = in_namespace->second.find(service.name);
  return found == in_namespace->second.end() ? nullptr : &found->second;
}

void ServicePods::services_on_node(const View& view, std::string_view node, Keys& keys) const {
  std::set<api::ObjectKey> found;
  for (const api::Pod* pod : view.pods_on_node(node)) {
    const auto in_namespace = services_.find(pod->meta.ns);
    if (in_namespace == services_.end()) continue;
    for (const auto& [name, service] : in_namespace->second)
      if (service.pods.contains(pod->meta.name))
        found.insert(workloads::key_in(services(), pod->meta.ns, name));
  }
  keys.insert(keys.end(), found.begin(), found.end());
}

std::optional<Time> ServicePods::rests_until(const api::ObjectKey& service, Time now) {
  Service* known = find(service);
  if (!known) return std::nullopt;
  const std::size_t pods = known->pods.size();
  const Time due = known->last_run + kRestPerEndpoint * static_cast<std::int64_t>(pods);
  if (pods > kPodsWithoutRest && known->last_run.is_set() && known->last_run <= now && now < due) return due;
  known->last_run = now;
  return std::nullopt;
}

void ServicePods::on_service(const View& view, const Delta& delta, Keys& keys) const {
  keys.push_back(delta.key);
  const auto* after = client::object_of<api::AnyObject>(delta.after);
  const api::LabelSelector selector = after ? selector_of(*after) : api::LabelSelector();
  const bool selects = !selector.selects_everything();
  auto& in_namespace = services_[delta.key.ns];
  const auto known = in_namespace.find(delta.key.name);
  if (known != in_namespace.end() && known->second.selector == selector && selects) return;
  if (known != in_namespace.end()) in_namespace.erase(known);
  if (selects) {
    Service& service = in_namespace[delta.key.name];
    service.selector = selector;
    const auto& all = view.pods.all();
    for (auto at = all.lower_bound({delta.key.ns, ""}); at != all.end() && at->first.ns == delta.key.ns; ++at)
      if (selector.matches(at->second->meta.labels))
        if (EndpointPodPtr pod = endpoint_pod(*at->second))
          service.pods.emplace(at->first.name, std::move(pod));
  }
  if (in_namespace.empty()) services_.erase(delta.key.ns);
}

void ServicePods::on_pod(const Delta& delta, Keys& keys) const {
  const auto in_namespace = services_.find(delta.key.ns);
  if (in_namespace == services_.end()) return;
  const auto* after = client::object_of<api::Pod>(delta.after);
  std::optional<EndpointPodPtr> read;
  for (auto& [name, service] : in_namespace->second) {
    EndpointPodPtr next;
    if (after && service.selector.matches(after->meta.labels)) {
      if (!read) read = endpoint_pod(*after);
      next = *read;
    }
    const auto known = service.pods.find(delta.key.name);
    if (says_the_same(known == service.pods.end() ? nullptr : known->second, next)) continue;
    if (next)
      service.pods[delta.key.name] = next;
    else
      service.pods.erase(known);
    keys.push_back(workloads::key_in(services(), delta.key.ns, name));
  }
}

std::optional<std::int64_t> port_number(const EndpointPod& pod, const Json& service_port) {
  const Json& target = service_port.part("targetPort");
  if (target.is_int()) return target.as_int();
  if (!target.is_string()) return service_port.int_at("port");
  const auto found = std::find_if(pod.ports.begin(), pod.ports.end(), [&](const NamedPort& port) {
    return port.name == target.as_string() && port.protocol == service_port.string_at("protocol");
  });
  if (found == pod.ports.end()) return std::nullopt;
  return found->number;
}

JsonArray endpoint_ports(const EndpointPod& pod, const Json& service_spec) {
  JsonArray ports;
  for (const Json& wanted : service_spec.items_at("ports")) {
    const auto number = port_number(pod, wanted);
    if (!number) continue;
    Json& port = ports.emplace_back(Json::object(
        {{"name", wanted.string_at("name")}, {"port", *number}, {"protocol", wanted.string_at("protocol")}}));
    if (const Json* protocol = wanted.find("appProtocol")) port["appProtocol"] = *protocol;
  }
  return ports;
}

bool is_headless(const Json& service_spec) {
  const std::string_view ip = service_spec.string_at("clusterIP");
  return ip.empty() || ip == "None";
}

std::string_view family_of(std::string_view address) {
  return address.find(':') == std::string_view::npos ? "IPv4" : "IPv6";
}

Json hostname_in(const EndpointPod& pod, std::string_view service_name) {
  const bool named = !pod.hostname.empty() && pod.subdomain == service_name;
  return named ? Json(pod.hostname) : Json();
}

Json pod_reference(const EndpointPod& pod, std::string_view ns) {
  return Json::object({{"kind", "Pod"}, {"namespace", ns}, {"name", pod.name}, {"uid", pod.uid}});
}

}  // namespace berth::controllers
