// Rules of core/v1 Service. Nothing serves the addresses; they are assigned because clients expect them.
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "api/kinds/core_kinds.h"
#include "api/kinds/core_parts.h"
#include "api/kinds/service_allocation.h"

namespace berth::api {
namespace {

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
  if (!is_external_service(spec)) put_default(spec, spec_type, "internalTrafficPolicy", "Cluster");
  const std::string_view kind = spec.string_at("type");
  const bool by_external_ip = kind == "ClusterIP" && !items(spec, "externalIPs").empty();
  if (kind == "NodePort" || kind == "LoadBalancer" || by_external_ip)
    put_default(spec, spec_type, "externalTrafficPolicy", "Cluster");
  if (is_load_balancer(spec)) put_default(spec, spec_type, "allocateLoadBalancerNodePorts", true);
}

void prepare_create(Json& service, const RuleContext& ctx) {
  put(service, core_type("Service"), "status", Json::object({{"loadBalancer", Json::object()}}));
  allocate_for_new(service, ctx);
}

FieldErrors check_ports(const FieldPath& path, const JsonArray& ports) {
  FieldErrors errors;
  const NamedItems by_name(ports, "name");
  std::set<std::pair<std::int64_t, std::string_view>> seen, seen_of_nodes;
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
    if (const std::int64_t of_nodes = port.int_at("nodePort");
        of_nodes != 0 && !seen_of_nodes.insert({of_nodes, port.string_at("protocol")}).second)
      errors.push_back(duplicate(at.child("nodePort"), of_nodes));
    if (!seen.insert({port.int_at("port"), port.string_at("protocol")}).second)
      errors.push_back(duplicate(
          at, Json::object({{"port", port.int_at("port")}, {"protocol", port.string_at("protocol")}})));
  }
  return errors;
}

// How traffic from outside reaches the pods; Services without such traffic have nothing to say about it.
FieldErrors check_external_traffic(const FieldPath& path, const Json& spec) {
  const Json* const policy = present(spec, "externalTrafficPolicy");
  FieldErrors errors;
  if (policy && is_externally_accessible(spec))
    append(errors,
           check_one_of(path.child("externalTrafficPolicy"), policy->as_string(), {"Cluster", "Local"}));
  else if (policy)
    errors.push_back(invalid(path.child("externalTrafficPolicy"), *policy,
                             "may only be set for externally-accessible services"));
  const std::int64_t health_port = spec.int_at("healthCheckNodePort");
  if (health_port != 0 && !has_health_port(spec))
    errors.push_back(
        invalid(path.child("healthCheckNodePort"), health_port,
                "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"));
  return errors;
}

FieldErrors check_balancer_class(const std::string& path, const Json& spec) {
  const Json* balancer = present(spec, "loadBalancerClass");
  if (!balancer) return {};
  if (!is_load_balancer(spec)) return {forbidden(path, "may only be used when `type` is 'LoadBalancer'")};
  return check_format(path, balancer->as_string(), qualified_name_problems);
}

FieldErrors validate(const Json& service, const RuleContext&) {
  const FieldPath path("spec");
  const Json& spec = *present(service, "spec");
  const bool headless = spec.string_at("clusterIP") == "None";
  FieldErrors errors;
  if (items(&spec, "ports").empty() && !headless && !is_external_service(spec))
    errors.push_back(required(path.child("ports")));
  append(errors, check_ports(path.child("ports"), items(&spec, "ports")));
  append(errors, check_labels(path.child("selector"), present(spec, "selector")));
  append(errors, check_one_of(path.child("sessionAffinity"), spec.string_at("sessionAffinity"),
                              {"ClientIP", "None"}));
  append(errors, check_one_of(path.child("type"), spec.string_at("type"),
                              {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"}));
  if (is_external_service(spec) && spec.string_at("externalName").empty())
    errors.push_back(required(path.child("externalName")));
  if (is_external_service(spec) && !spec.string_at("clusterIP").empty())
    errors.push_back(forbidden(path.child("clusterIPs"), "may not be set for ExternalName services"));
  append(errors, check_external_traffic(path, spec));
  append(errors, check_balancer_class(path.child("loadBalancerClass"), spec));
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
  if (spec && stored && !is_external_service(*spec) && !is_external_service(*stored))
    append(errors,
           check_immutable("spec.clusterIP", present(spec, "clusterIP"), present(stored, "clusterIP")));
  if (spec && stored && has_health_port(*spec) && has_health_port(*stored) &&
      spec->int_at("healthCheckNodePort") != stored->int_at("healthCheckNodePort"))
    errors.push_back(forbidden("spec.healthCheckNodePort", "field is immutable"));
  if (spec && stored && is_load_balancer(*spec) && is_load_balancer(*stored) &&
      !same(present(spec, "loadBalancerClass"), present(stored, "loadBalancerClass")))
    errors.push_back(invalid("spec.loadBalancerClass", value_or_null(present(spec, "loadBalancerClass")),
                             "may not change once set"));
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
  rules.prepare_update = allocate_for_update;
  rules.validate_create = validate_create;
  rules.validate_update = validate_update;
  return rules;
}

}  // namespace berth::api
