// Rules of core/v1 Service. Nothing serves the addresses; they are assigned because clients expect them.
#include <array>
#include <cstdint>
#include <set>
#include <string>

#include "api/kinds/core_kinds.h"
#include "api/kinds/core_parts.h"

namespace berth::api {
namespace {

// 10.96.0.0/16 without its first addresses, which clusters reserve.
constexpr std::uint32_t kAddressFirst = 256;
constexpr std::uint32_t kAddressCount = 65000;

bool is_external(const Json& spec) {
  return spec.string_at("type") == "ExternalName";
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
}

std::string address_text(std::uint32_t offset) {
  return "10.96." + std::to_string(offset >> 8) + "." + std::to_string(offset & 0xff);
}

// The same name gets the same address as long as no other service has it.
std::string free_address(const Json& service, const RuleContext& ctx) {
  std::set<std::string, std::less<>> taken;
  for (const Json& other : ctx.list("services", ""))
    if (const Json* ip = present_at(other, {"spec", "clusterIP"})) taken.insert(ip->as_string());
  const Json& metadata = *service.find("metadata");
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (std::string_view part :
       {metadata.string_at("namespace"), std::string_view("/"), metadata.string_at("name")})
    for (char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
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

void prepare_create(Json& service, const RuleContext& ctx) {
  put(service, core_type("Service"), "status", Json::object({{"loadBalancer", Json::object()}}));
  Json& spec = *present(service, "spec");
  if (is_external(spec)) return;
  const std::string asked(spec.string_at("clusterIP"));
  put_addresses(spec, asked.empty() ? free_address(service, ctx) : asked);
}

// Manifests seldom have the address: it stays.
void prepare_update(Json& next, const Json& old, const RuleContext&) {
  Json& spec = *present(next, "spec");
  const Json* stored = present(old, "spec");
  const std::string address(stored ? stored->string_at("clusterIP") : "");
  if (!is_external(spec) && spec.string_at("clusterIP").empty() && !address.empty())
    put_addresses(spec, address);
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
  return errors;
}

FieldErrors validate_update(const Json& next, const Json& old, const RuleContext& ctx) {
  const Json* spec = present(next, "spec");
  const Json* stored = present(old, "spec");
  FieldErrors errors;
  if (spec && stored && !is_external(*spec) && !is_external(*stored))
    append(errors,
           check_immutable("spec.clusterIP", present(spec, "clusterIP"), present(stored, "clusterIP")));
  append(errors, validate(next, ctx));
  return errors;
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
  rules.validate_create = validate;
  rules.validate_update = validate_update;
  return rules;
}

}  // namespace berth::api
