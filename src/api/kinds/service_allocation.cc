#include "api/kinds/service_allocation.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "api/kinds/core_parts.h"

namespace berth::api {
namespace {

// Of the ServiceCIDR `kubernetes`, without its first addresses, which clusters reserve.
constexpr std::uint32_t kAddressFirst = 256;
constexpr std::uint32_t kAddressCount = 65000;

// kube-apiserver's --service-node-port-range.
constexpr std::int64_t kNodePortFirst = 30000, kNodePortLast = 32767;
constexpr std::int64_t kNodePortCount = kNodePortLast - kNodePortFirst + 1;

constexpr std::string_view kPortIsTaken = "provided port is already allocated";

bool gets_node_ports(const Json& spec) {
  return has_node_ports(spec) &&
         (!is_load_balancer(spec) || spec.bool_at("allocateLoadBalancerNodePorts", true));
}

// The same number for one name, spread over the range.
std::uint32_t hash_of_name(const Json& service) {
  const Json& metadata = service.part("metadata");
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (std::string_view part :
       {metadata.string_at("namespace"), std::string_view("/"), metadata.string_at("name")})
    for (char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

std::string_view uid_of(const Json& service) {
  return service.part("metadata").string_at("uid");
}

// Where nobody says what others have, nothing was given either: berth plan reads Services as they are.
bool has_other(const RuleContext& ctx, const Json& service, std::string_view address) {
  return ctx.services && ctx.services->has_address(address, uid_of(service));
}
bool has_other(const RuleContext& ctx, const Json& service, std::int64_t node_port) {
  return ctx.services && ctx.services->has_node_port(node_port, uid_of(service));
}

// Empty: all are taken.
std::string free_address(const Json& service, const RuleContext& ctx) {
  const std::uint32_t hash = hash_of_name(service);
  for (std::uint32_t i = 0; i < kAddressCount; ++i) {
    const std::uint32_t offset = kAddressFirst + (hash + i) % kAddressCount;
    std::string address = "10.96." + std::to_string(offset >> 8) + "." + std::to_string(offset & 0xff);
    if (!has_other(ctx, service, address)) return address;
  }
  return "";
}

void put_addresses(Json& spec, const std::string& address) {
  static const TypeInfo& type = core_type("ServiceSpec");
  put(spec, type, "clusterIP", address);
  put(spec, type, "clusterIPs", Json::array({address}));
  put_default(spec, type, "ipFamilies", Json::array({"IPv4"}));
  put_default(spec, type, "ipFamilyPolicy", "SingleStack");
}

// Free ports of the nodes, one after the other. Cost: all calls of take_any() together look at each port of
// the range once.
class FreeNodePorts {
 public:
  FreeNodePorts(const Json& service, const RuleContext& ctx)
      : service_(service), ctx_(ctx), first_(hash_of_name(service) % kNodePortCount) {}
  void take(std::int64_t port) { own_.insert(port); }
  // 0: all are taken.
  std::int64_t take_any() {
    while (tried_ < kNodePortCount) {
      const std::int64_t port = kNodePortFirst + (first_ + tried_++) % kNodePortCount;
      if (!own_.contains(port) && !has_other(ctx_, service_, port)) return port;
    }
    return 0;
  }

 private:
  const Json& service_;
  const RuleContext& ctx_;
  const std::int64_t first_;
  std::int64_t tried_ = 0;
  std::set<std::int64_t> own_;  // that were given
};

// Gives each port that lacks one a free port of the nodes; ports of one number share theirs.
void allocate_node_ports(Json& service, const RuleContext& ctx) {
  static const TypeInfo& type = core_type("ServicePort");
  const Json named = Json::object({{"metadata", service.part("metadata")}});
  FreeNodePorts free(named, ctx);
  Json& spec = *present(service, "spec");
  std::map<std::int64_t, std::int64_t> by_port;
  for (const Json& port : std::as_const(spec).items_at("ports"))
    if (const std::int64_t given = port.int_at("nodePort"); given != 0) {
      by_port.try_emplace(port.int_at("port"), given);
      free.take(given);
    }
  const std::int64_t health_port = std::as_const(spec).int_at("healthCheckNodePort");
  if (health_port != 0) free.take(health_port);
  if (gets_node_ports(spec))
    for (Json& port : items(spec, "ports")) {
      if (std::as_const(port).int_at("nodePort") != 0) continue;
      const auto [shared, first] = by_port.try_emplace(std::as_const(port).int_at("port"), 0);
      if (first) shared->second = free.take_any();
      if (shared->second != 0) put(port, type, "nodePort", shared->second);
    }
  if (!has_health_port(spec) || health_port != 0) return;
  if (const std::int64_t port = free.take_any(); port != 0)
    put(spec, core_type("ServiceSpec"), "healthCheckNodePort", port);
}

std::set<std::int64_t> node_ports_of(const Json& spec) {
  std::set<std::int64_t> ports;
  for (const Json& port : spec.items_at("ports")) ports.insert(port.int_at("nodePort"));
  return ports;
}

// Manifests seldom have what was allocated: it stays, as long as the type has use for it.
void keep_allocated(Json& spec, const Json& stored) {
  static const TypeInfo& port_type = core_type("ServicePort");
  if (!has_node_ports(spec) || !has_node_ports(stored)) return;
  const auto key_of = [](const Json& port) {
    return std::pair(port.int_at("port"), port.string_at("protocol"));
  };
  std::map<std::pair<std::int64_t, std::string_view>, std::int64_t> before;
  for (const Json& port : stored.items_at("ports"))
    if (const std::int64_t given = port.int_at("nodePort"); given != 0) before.emplace(key_of(port), given);
  std::set<std::int64_t> used = node_ports_of(spec);
  for (Json& port : items(spec, "ports")) {
    if (std::as_const(port).int_at("nodePort") != 0) continue;
    const auto kept = before.find(key_of(port));
    if (kept != before.end() && used.insert(kept->second).second)
      put(port, port_type, "nodePort", kept->second);
  }
  if (has_health_port(spec) && has_health_port(stored) &&
      std::as_const(spec).int_at("healthCheckNodePort") == 0)
    if (const std::int64_t port = stored.int_at("healthCheckNodePort"))
      put(spec, core_type("ServiceSpec"), "healthCheckNodePort", port);
}

void drop_unchanged(Json& spec, const Json& stored, std::initializer_list<std::string_view> fields) {
  for (std::string_view field : fields)
    if (same(present(std::as_const(spec), field), present(stored, field))) spec.as_object().erase(field);
}

// What another type has no use for goes, unless the client changed it.
void drop_of_other_type(Json& spec, const Json& stored) {
  if (is_external_service(spec) && !is_external_service(stored))
    drop_unchanged(spec, stored, {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"});
  if (!has_node_ports(spec) && has_node_ports(stored)) {
    const std::set<std::int64_t> before = node_ports_of(stored);
    for (Json& port : items(spec, "ports"))
      if (before.contains(std::as_const(port).int_at("nodePort"))) port.as_object().erase("nodePort");
  }
  if (!is_externally_accessible(spec) && is_externally_accessible(stored))
    drop_unchanged(spec, stored, {"externalTrafficPolicy"});
  if (!has_health_port(spec) && has_health_port(stored))
    drop_unchanged(spec, stored, {"healthCheckNodePort"});
  if (!is_load_balancer(spec) && is_load_balancer(stored))
    drop_unchanged(spec, stored, {"allocateLoadBalancerNodePorts", "loadBalancerClass"});
}

std::optional<FieldError> node_port_error(const std::string& path, std::int64_t port, const Json& service,
                                          const RuleContext& ctx) {
  if (port < kNodePortFirst || port > kNodePortLast)
    return invalid(path, port,
                   "provided port is not in the valid range. The range of valid ports is " +
                       std::to_string(kNodePortFirst) + "-" + std::to_string(kNodePortLast));
  if (has_other(ctx, service, port)) return invalid(path, port, kPortIsTaken);
  return std::nullopt;
}

// Ports that the stored Service has are not judged again. Of a new one, ports of different numbers cannot
// have the same.
FieldErrors check_node_ports(const Json& service, const Json* old, const RuleContext& ctx) {
  const Json& spec = service.part("spec");
  const std::set<std::int64_t> stored = old ? node_ports_of(old->part("spec")) : std::set<std::int64_t>();
  std::map<std::int64_t, std::int64_t> port_of;  // by port of the nodes
  FieldErrors errors;
  const JsonArray& ports = spec.items_at("ports");
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::int64_t port = ports[i].int_at("nodePort");
    const FieldPath path = FieldPath("spec").child("ports").index(i).child("nodePort");
    if (port == 0 && ctx.services && gets_node_ports(spec))
      errors.push_back(invalid(path, port, "failed to allocate a nodePort: range is full"));
    if (port == 0 || stored.contains(port)) continue;
    const auto [first, is_new] = port_of.try_emplace(port, ports[i].int_at("port"));
    if (!has_node_ports(spec))
      errors.push_back(
          forbidden(path, "may not be used when `type` is '" + std::string(spec.string_at("type")) + "'"));
    else if (std::optional<FieldError> error = node_port_error(path, port, service, ctx))
      errors.push_back(*std::move(error));
    else if (!old && !is_new && first->second != ports[i].int_at("port"))
      errors.push_back(invalid(path, port, kPortIsTaken));
  }
  return errors;
}

std::optional<FieldError> health_port_error(const Json& service, const Json* old, const RuleContext& ctx) {
  const Json& spec = service.part("spec");
  if (!has_health_port(spec) || (old && has_health_port(old->part("spec")))) return std::nullopt;
  const std::string path = "spec.healthCheckNodePort";
  const std::int64_t port = spec.int_at("healthCheckNodePort");
  if (port == 0 && !ctx.services) return std::nullopt;
  if (port == 0) return invalid(path, port, "failed to allocate a HealthCheck NodePort: range is full");
  if (node_ports_of(spec).contains(port)) return invalid(path, port, kPortIsTaken);
  return node_port_error(path, port, service, ctx);
}

std::optional<FieldError> address_error(const Json& service, const Json* old, const RuleContext& ctx) {
  const Json& spec = service.part("spec");
  const std::string_view address = spec.string_at("clusterIP");
  if (is_external_service(spec) || address == "None" || !ctx.services) return std::nullopt;
  if (address.empty())
    return invalid("spec.clusterIPs", Json::array({}), "failed to allocate a serviceIP: range is full");
  const bool is_kept = old && old->part("spec").string_at("clusterIP") == address;
  if (is_kept || !has_other(ctx, service, address)) return std::nullopt;
  return invalid("spec.clusterIPs", Json::array({address}),
                 "failed to allocate IP " + std::string(address) + ": provided IP is already allocated");
}

}  // namespace

bool is_external_service(const Json& spec) {
  return spec.string_at("type") == "ExternalName";
}

bool is_load_balancer(const Json& spec) {
  return spec.string_at("type") == "LoadBalancer";
}

bool has_node_ports(const Json& spec) {
  return spec.string_at("type") == "NodePort" || is_load_balancer(spec);
}

bool has_health_port(const Json& spec) {
  return is_load_balancer(spec) && spec.string_at("externalTrafficPolicy") == "Local";
}

bool is_externally_accessible(const Json& spec) {
  return has_node_ports(spec) ||
         (spec.string_at("type") == "ClusterIP" && !spec.items_at("externalIPs").empty());
}

void allocate_for_new(Json& service, const RuleContext& ctx) {
  Json& spec = *present(service, "spec");
  if (has_node_ports(spec)) allocate_node_ports(service, ctx);
  if (is_external_service(spec)) return;
  const std::string asked(spec.string_at("clusterIP"));
  const std::string address = asked.empty() ? free_address(service, ctx) : asked;
  if (!address.empty()) put_addresses(spec, address);
}

void allocate_for_update(Json& next, const Json& old, const RuleContext& ctx) {
  Json& spec = *present(next, "spec");
  const Json& stored = old.part("spec");
  drop_of_other_type(spec, stored);
  keep_allocated(spec, stored);
  if (has_node_ports(spec)) allocate_node_ports(next, ctx);
  if (is_external_service(spec) || !spec.string_at("clusterIP").empty()) return;
  const std::string kept(is_external_service(stored) ? "" : stored.string_at("clusterIP"));
  const std::string address = kept.empty() ? free_address(next, ctx) : kept;
  if (!address.empty()) put_addresses(spec, address);
}

FieldErrors check_allocations(const Json& service, const Json* old, const RuleContext& ctx) {
  FieldErrors errors = check_node_ports(service, old, ctx);
  if (std::optional<FieldError> error = health_port_error(service, old, ctx))
    errors.push_back(*std::move(error));
  if (std::optional<FieldError> error = address_error(service, old, ctx)) errors.push_back(*std::move(error));
  return errors;
}

}  // namespace berth::api
