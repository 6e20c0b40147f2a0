// Rules of apiregistration.k8s.io APIService. Those without a service are this server's own group versions;
// others are stored, and nothing is proxied to their services.
//
// Source: pkg/apis/apiregistration/validation and pkg/registry/apiservice of kube-aggregator 1.37.
#include "api/kinds/core_parts.h"
#include "api/kinds/stored_kinds.h"

namespace berth::api {
namespace {

constexpr std::int64_t kGroupPriorityMax = 20000, kVersionPriorityMax = 1000;
constexpr int kHttpsPort = 443;

const TypeInfo& registration_type(std::string_view name) {
  return table_type("apiregistration.k8s.io", "v1", name);
}

void set_service_defaults(Json& object) {
  if (Json* service = present_at(object, {"spec", "service"}))
    put_default(*service, registration_type("ServiceReference"), "port", kHttpsPort);
}

void begin_status(Json& object, const RuleContext& ctx) {
  const bool local = !present_at(object, {"spec", "service"});
  Json condition = Json::object({{"type", "Available"},
                                 {"status", local ? "True" : "False"},
                                 {"lastTransitionTime", format_time(ctx.now)},
                                 {"reason", local ? "Local" : "NotProxied"},
                                 {"message", local ? "Local APIServices are always available"
                                                   : "this server does not proxy requests to services"}});
  put(object, registration_type("APIService"), "status",
      Json::object({{"conditions", Json::array({std::move(condition)})}}));
}

std::vector<std::string> registration_warnings(const Json& object, const Json*, const RuleContext&) {
  const Json* service = present_at(object, {"spec", "service"});
  if (!service) return {};
  const Json& spec = *present(object, "spec");
  return {"requests of " + std::string(spec.string_at("group")) + "/" +
          std::string(spec.string_at("version")) + " are not proxied to service " +
          std::string(service->string_at("namespace")) + "/" + std::string(service->string_at("name")) +
          ": it is only stored"};
}

NameProblems registration_name_problems(const Json& object, std::string_view name) {
  NameProblems problems = path_segment_problems(name);
  if (!problems.empty()) return problems;
  const Json& spec = object.part("spec");
  const std::string wanted =
      std::string(spec.string_at("version")) + "." + std::string(spec.string_at("group"));
  if (name == wanted) return {};
  return {"must be `spec.version+\".\"+spec.group`: \"" + wanted + "\""};
}

FieldErrors check_service(const FieldPath& path, const Json& spec) {
  const Json* service = present(spec, "service");
  const std::string_view bundle = spec.string_at("caBundle");
  const bool skips = spec.bool_at("insecureSkipTLSVerify");
  FieldErrors errors;
  if (!service) {
    if (!bundle.empty())
      errors.push_back(invalid(path.child("caBundle"), std::to_string(bundle.size()) + " bytes",
                               "local APIServices may not have a caBundle"));
    if (skips)
      errors.push_back(invalid(path.child("insecureSkipTLSVerify"), true,
                               "local APIServices may not have insecureSkipTLSVerify"));
    return errors;
  }
  for (std::string_view field : {"namespace", "name"})
    if (service->string_at(field).empty()) errors.push_back(required(path.child("service").child(field)));
  append(errors, check_port(path.child("service").child("port"), service->int_at("port")));
  if (skips && !bundle.empty())
    errors.push_back(
        invalid(path.child("insecureSkipTLSVerify"), true, "may not be true if caBundle is present"));
  return errors;
}

FieldErrors validate_registration(const Json& object, const RuleContext&) {
  const FieldPath path("spec");
  const Json& spec = object.part("spec");
  const std::string_view group = spec.string_at("group"), version = spec.string_at("version");
  FieldErrors errors;
  if (group.empty() && version != "v1")
    errors.push_back(
        required(path.child("group"), "only v1 may have an empty group and it better be legacy kube"));
  if (!group.empty()) append(errors, check_format(path.child("group"), group, dns_subdomain_problems));
  append(errors, check_format(path.child("version"), version, dns_1035_label_problems));
  const auto check_priority = [&](std::string_view field, std::int64_t max) {
    const std::int64_t value = spec.int_at(field);
    if (value <= 0 || value > max)
      errors.push_back(
          invalid(path.child(field), value, "must be positive and less than " + std::to_string(max)));
  };
  check_priority("groupPriorityMinimum", kGroupPriorityMax);
  check_priority("versionPriority", kVersionPriorityMax);
  append(errors, check_service(path, spec));
  return errors;
}

}  // namespace

void adjust_api_services(KindRules& rules) {
  rules.name_problems = registration_name_problems;
  rules.set_defaults = set_service_defaults;
  rules.prepare_create = begin_status;
  rules.validate_create = validate_registration;
  rules.warnings = registration_warnings;
}

}  // namespace berth::api
