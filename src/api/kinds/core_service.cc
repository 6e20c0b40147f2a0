// Rules of core/v1 Service. Nothing serves the addresses; they are assigned because clients expect them.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "api/kinds/core_kinds.h"
#include "api/kinds/core_parts.h"

namespace berth::api {
namespace {

// Of the ServiceCIDR `kubernetes`, without its first addresses, which clusters reserve.
constexpr std::uint32_t kAddressFirst = 256;
constexpr std::uint32_t kAddressCount = 65000;

// kube-apiserver's --service-node-port-range.
constexpr std::int64_t kNodePortFirst = 30000, kNodePortLast = 32767;

bool is_external(const Json& spec) {
  return spec.string_at("type") == "ExternalName";
}

bool is_balanced(const Json& spec) {
  return spec.string_at("type") == "LoadBalancer";
}

bool has_node_ports(const Json& spec) {
  return spec.string_at("type") == "NodePort" || is_balanced(spec);
}

bool gets_node_ports(const Json& spec) {
  return has_node_ports(spec) && (!is_balanced(spec) || spec.bool_at("allocateLoadBalancerNodePorts", true));
}

bool has_health_port(const Json& spec) {
  return is_balanced(spec) && spec.string_at("externalTrafficPolicy") == "Local";
}

void set_defaults(Json& service) {
  static const TypeInfo& type = core_type("Service");
  static const TypeInfo& spec_type = core_type("ServiceSpec");
  static const TypeInfo& port_type = core_type("ServicePort");
  put_default(service, type, "spec", Json::object());
  Json& spec = *present(service, "spec");
  put_default(spec, spec_type, "sessionAffinity", "None");
  put_default(spec, spec_type, "type", "ClusterIP");
  for (Json& port : items(spec, "ports")) {
    put_default(port, port_type, "protocol", "TCP");
    const Json* target = present(port, "targetPort");
    if (!target || *target == Json(0) || *target == Json(""))
      put(port, port_type, "targetPort", port.int_at("port"));
  }
  if (!is_external(spec)) put_default(spec, spec_type, "internalTrafficPolicy", "Cluster");
  const std::string_view kind = spec.string_at("type");
  const bool by_external_ip = kind == "ClusterIP" && !items(spec, "externalIPs").empty();
  if (kind == "NodePort" || kind == "LoadBalancer" || by_external_ip)
    put_default(spec, spec_type, "externalTrafficPolicy", "Cluster");
  if (is_balanced(spec)) put_default(spec, spec_type, "allocateLoadBalancerNodePorts", true);
}

std::string address_text(std::uint32_t offset) {
  return "10.96." + std::to_string(offset >> 8) + "." + std::to_string(offset & 0xff);
}

// The same text for one name, spread over the range: concurrent creates seldom meet.
std::uint32_t hash_of_name(const Json& service) {
  const Json& metadata = service.part("metadata");
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (std::string_view part :
       {metadata.string_at("namespace"), std::string_view("/"), metadata.string_at("name")})
    for (char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

bool is_same_object(const Json& a, const Json& b) {
  const Json &left = a.part("metadata"), &right = b.part("metadata");
  return left.string_at("name") == right.string_at("name") &&
         left.string_at("namespace") == right.string_at("namespace");
}

// Only services whose text has the address are parsed.
bool has_another(std::string_view address, const Json& service, const RuleContext& ctx) {
  const std::string text = "\"clusterIP\":\"" + std::string(address) + "\"";
  const std::vector<Json> found = ctx.list("services", text);
  return std::any_of(found.begin(), found.end(),
                     [&](const Json& other) { return !is_same_object(other, service); });
}

// The same name gets the same address as long as no other service has it.
std::string free_address(const Json& service, const RuleContext& ctx) {
  std::set<std::string, std::less<>> taken;
  for (const Json& other : ctx.list("services", ""))
    if (const Json* ip = present_at(other, {"spec", "clusterIP"})) taken.insert(ip->as_string());
  const std::uint32_t hash = hash_of_name(service);
  for (std::uint32_t i = 0; i < kAddressCount; ++i) {
    std::string address = address_text(kAddressFirst + (hash + i) % kAddressCount);
    if (!taken.contains(address)) return address;
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

std::set<std::int64_t> node_ports_of_others(const Json& service, const RuleContext& ctx) {
  std::set<std::int64_t> taken;
  for (const Json& other : ctx.list("services", "odePort\":")) {
    if (is_same_object(other, service)) continue;
    const Json& spec = other.part("spec");
    for (const Json& port : items(&spec, "ports")) taken.insert(port.int_at("nodePort"));
    taken.insert(spec.int_at("healthCheckNodePort"));
  }
  taken.erase(0);
  return taken;
}

// Gives each port that lacks one a free port of the nodes; ports of one number share theirs.
void allocate_node_ports(Json& service, const RuleContext& ctx) {
  static const TypeInfo& type = core_type("ServicePort");
  Json& spec = *present(service, "spec");
  const Json& read = spec;
  std::set<std::int64_t> taken;
  std::map<std::int64_t, std::int64_t> by_port;
  bool missing = has_health_port(spec) && read.int_at("healthCheckNodePort") == 0;
  for (const Json& port : read.items_at("ports")) {
    const std::int64_t given = port.int_at("nodePort");
    missing |= given == 0;
    if (given == 0) continue;
    by_port.try_emplace(port.int_at("port"), given);
    taken.insert(given);
  }
  if (!missing) return;
  taken.merge(node_ports_of_others(service, ctx));
  constexpr std::int64_t kCount = kNodePortLast - kNodePortFirst + 1;
  std::int64_t next = hash_of_name(service) % kCount;
  const auto take = [&]() -> std::int64_t {
    for (std::int64_t tried = 0; tried < kCount; ++tried, ++next)
      if (const std::int64_t port = kNodePortFirst + next % kCount; taken.insert(port).second) return port;
    return 0;
  };
  if (gets_node_ports(spec))
    for (Json& port : items(spec, "ports")) {
      if (std::as_const(port).int_at("nodePort") != 0) continue;
      const auto [shared, first] = by_port.try_emplace(std::as_const(port).int_at("port"), 0);
      if (first) shared->second = take();
      if (shared->second != 0) put(port, type, "nodePort", shared->second);
    }
  if (has_health_port(spec) && read.int_at("healthCheckNodePort") == 0)
    put(spec, core_type("ServiceSpec"), "healthCheckNodePort", take());
}

void prepare_create(Json& service, const RuleContext& ctx) {
  put(service, core_type("Service"), "status", Json::object({{"loadBalancer", Json::object()}}));
  Json& spec = *present(service, "spec");
  if (has_node_ports(spec)) allocate_node_ports(service, ctx);
  if (is_external(spec)) return;
  const std::string asked(spec.string_at("clusterIP"));
  put_addresses(spec, asked.empty() ? free_address(service, ctx) : asked);
}

// Manifests seldom have what was allocated: it stays, as long as the type has use for it.
void keep_allocated(Json& spec, const Json& stored) {
  static const TypeInfo& port_type = core_type("ServicePort");
  if (!has_node_ports(spec) || !has_node_ports(stored)) return;
  std::set<std::int64_t> used;
  for (const Json& port : std::as_const(spec).items_at("ports")) used.insert(port.int_at("nodePort"));
  for (Json& port : items(spec, "ports")) {
    if (std::as_const(port).int_at("nodePort") != 0) continue;
    for (const Json& before : stored.items_at("ports"))
      if (before.int_at("port") == std::as_const(port).int_at("port") &&
          before.string_at("protocol") == std::as_const(port).string_at("protocol") &&
          before.int_at("nodePort") != 0 && used.insert(before.int_at("nodePort")).second)
        put(port, port_type, "nodePort", before.int_at("nodePort"));
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
  if (is_external(spec) && !is_external(stored))
    drop_unchanged(spec, stored, {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"});
  if (!has_node_ports(spec) && has_node_ports(stored)) {
    std::set<std::int64_t> before;
    for (const Json& port : stored.items_at("ports")) before.insert(port.int_at("nodePort"));
    for (Json& port : items(spec, "ports"))
      if (before.contains(std::as_const(port).int_at("nodePort"))) port.as_object().erase("nodePort");
    if (std::as_const(spec).items_at("externalIPs").empty())
      drop_unchanged(spec, stored, {"externalTrafficPolicy"});
  }
  if (!has_health_port(spec) && has_health_port(stored))
    drop_unchanged(spec, stored, {"healthCheckNodePort"});
  if (!is_balanced(spec) && is_balanced(stored))
    drop_unchanged(spec, stored, {"allocateLoadBalancerNodePorts", "loadBalancerClass"});
}

void prepare_update(Json& next, const Json& old, const RuleContext& ctx) {
  Json& spec = *present(next, "spec");
  const Json& stored = old.part("spec");
  drop_of_other_type(spec, stored);
  keep_allocated(spec, stored);
  if (has_node_ports(spec)) allocate_node_ports(next, ctx);
  if (is_external(spec) || !spec.string_at("clusterIP").empty()) return;
  const std::string kept(is_external(stored) ? "" : stored.string_at("clusterIP"));
  put_addresses(spec, kept.empty() ? free_address(next, ctx) : kept);
}

// Ports and addresses that the client chose, against those of other services. `old` is null at creation.
FieldErrors check_allocations(const Json& service, const Json* old, const RuleContext& ctx) {
  const Json& spec = service.part("spec");
  FieldErrors errors;
  std::set<std::int64_t> standing, taken;
  if (old)
    for (const Json& port : old->part("spec").items_at("ports")) standing.insert(port.int_at("nodePort"));
  bool asked = false;
  const JsonArray& ports = spec.items_at("ports");
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::int64_t port = ports[i].int_at("nodePort");
    if (port == 0 || standing.contains(port)) continue;
    const FieldPath path = FieldPath("spec").child("ports").index(i).child("nodePort");
    if (!has_node_ports(spec)) {
      errors.push_back(
          forbidden(path, "may not be used when `type` is '" + std::string(spec.string_at("type")) + "'"));
    } else if (port < kNodePortFirst || port > kNodePortLast) {
      errors.push_back(invalid(path, port,
                               "provided port is not in the valid range. The range of valid ports is " +
                                   std::to_string(kNodePortFirst) + "-" + std::to_string(kNodePortLast)));
    } else {
      if (!std::exchange(asked, true)) taken = node_ports_of_others(service, ctx);
      if (taken.contains(port)) errors.push_back(invalid(path, port, "provided port is already allocated"));
    }
  }
  const std::string_view address = spec.string_at("clusterIP");
  const bool chosen =
      !address.empty() && address != "None" && (!old || old->part("spec").string_at("clusterIP") != address);
  if (chosen && has_another(address, service, ctx))
    errors.push_back(
        invalid("spec.clusterIPs", Json::array({address}),
                "failed to allocate IP " + std::string(address) + ": provided IP is already allocated"));
  return errors;
}

FieldErrors check_ports(const FieldPath& path, const JsonArray& ports) {
  FieldErrors errors;
  const NamedItems by_name(ports, "name");
  std::set<std::pair<std::int64_t, std::string_view>> seen;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const FieldPath at = path.index(i);
    const Json& port = ports[i];
    const std::string_view name = port.string_at("name");
    if (name.empty() && ports.size() > 1) errors.push_back(required(at.child("name")));
    if (!name.empty()) append(errors, check_format(at.child("name"), name, dns_label_problems));
    if (!name.empty() && by_name.is_repeated(port)) errors.push_back(duplicate(at.child("name"), name));
    append(errors, check_port(at.child("port"), port.int_at("port")));
    append(errors, check_one_of(at.child("protocol"), port.string_at("protocol"), {"SCTP", "TCP", "UDP"}));
    if (const Json* target = present(port, "targetPort"); target && target->is_int())
      append(errors, check_port(at.child("targetPort"), target->as_int()));
    if (!seen.insert({port.int_at("port"), port.string_at("protocol")}).second)
      errors.push_back(duplicate(
          at, Json::object({{"port", port.int_at("port")}, {"protocol", port.string_at("protocol")}})));
  }
  return errors;
}

FieldErrors validate(const Json& service, const RuleContext&) {
  const FieldPath path("spec");
  const Json& spec = *present(service, "spec");
  const bool headless = spec.string_at("clusterIP") == "None";
  FieldErrors errors;
  if (items(&spec, "ports").empty() && !headless && !is_external(spec))
    errors.push_back(required(path.child("ports")));
  append(errors, check_ports(path.child("ports"), items(&spec, "ports")));
  append(errors, check_labels(path.child("selector"), present(spec, "selector")));
  append(errors, check_one_of(path.child("sessionAffinity"), spec.string_at("sessionAffinity"),
                              {"ClientIP", "None"}));
  append(errors, check_one_of(path.child("type"), spec.string_at("type"),
                              {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"}));
  if (is_external(spec) && spec.string_at("externalName").empty())
    errors.push_back(required(path.child("externalName")));
  if (is_external(spec) && !spec.string_at("clusterIP").empty())
    errors.push_back(forbidden(path.child("clusterIPs"), "may not be set for ExternalName services"));
  return errors;
}

FieldErrors validate_create(const Json& service, const RuleContext& ctx) {
  FieldErrors errors = validate(service, ctx);
  // A service that is refused anyway is not compared with the others.
  return errors.empty() ? check_allocations(service, nullptr, ctx) : errors;
}

FieldErrors validate_update(const Json& next, const Json& old, const RuleContext& ctx) {
  const Json* spec = present(next, "spec");
  const Json* stored = present(old, "spec");
  FieldErrors errors;
  if (spec && stored && !is_external(*spec) && !is_external(*stored))
    append(errors,
           check_immutable("spec.clusterIP", present(spec, "clusterIP"), present(stored, "clusterIP")));
  append(errors, validate(next, ctx));
  return errors.empty() ? check_allocations(next, &old, ctx) : errors;
}

}  // namespace

KindRules service_rules() {
  KindRules rules;
  rules.resource = "services";
  rules.name_rule = NameRule::Label;
  rules.answers_deleted_object = true;
  rules.create_on_update = true;
  rules.set_defaults = set_defaults;
  rules.prepare_create = prepare_create;
  rules.prepare_update = prepare_update;
  rules.validate_create = validate_create;
  rules.validate_update = validate_update;
  return rules;
}

}  // namespace berth::api
