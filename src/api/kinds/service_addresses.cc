// Rules of networking.k8s.io IPAddress and ServiceCIDR. Source: pkg/apis/networking/validation of Kubernetes
// 1.37.
#include "api/kinds/core_parts.h"
#include "api/kinds/network_address.h"
#include "api/kinds/stored_kinds.h"

namespace berth::api {
namespace {

constexpr std::string_view kNetGroup = "networking.k8s.io";

NameProblems address_name_problems(const Json&, std::string_view name) {
  const auto canonical = canonical_address(name);
  if (!canonical) return {"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"};
  if (*canonical != name) return {"must be in canonical form (\"" + *canonical + "\")"};
  return {};
}

FieldErrors validate_address(const Json& object, const RuleContext&) {
  const Json* parent = present_at(object, {"spec", "parentRef"});
  const FieldPath path = FieldPath("spec").child("parentRef");
  if (!parent) return {required(path)};
  FieldErrors errors;
  if (const std::string_view group = parent->string_at("group"); !group.empty())
    append(errors, check_format(path.child("group"), group, dns_subdomain_problems));
  for (std::string_view field : {"resource", "name"})
    if (parent->string_at(field).empty())
      errors.push_back(required(path.child(field)));
    else
      append(errors, check_format(path.child(field), parent->string_at(field), path_segment_problems));
  if (const std::string_view ns = parent->string_at("namespace"); !ns.empty())
    append(errors, check_format(path.child("namespace"), ns, path_segment_problems));
  return errors;
}

FieldErrors validate_address_update(const Json& next, const Json& old, const RuleContext& ctx) {
  FieldErrors errors = validate_address(next, ctx);
  append(errors, check_immutable("spec.parentRef", present_at(next, {"spec", "parentRef"}),
                                 present_at(old, {"spec", "parentRef"})));
  return errors;
}

FieldErrors validate_ranges(const Json& object, const RuleContext&) {
  const FieldPath path = FieldPath("spec").child("cidrs");
  const JsonArray& ranges = items(present(object, "spec"), "cidrs");
  if (ranges.empty()) return {required(path, "at least one CIDR required")};
  if (ranges.size() > 2) return {invalid(path, ranges, "may only hold up to 2 values")};
  return check_ranges(path, ranges);
}

// A second range, of the other family, may be added.
FieldErrors validate_ranges_update(const Json& next, const Json& old, const RuleContext& ctx) {
  const JsonArray& after = items(present(next, "spec"), "cidrs");
  const JsonArray& before = items(present(old, "spec"), "cidrs");
  if (after.size() < before.size() || after.size() > 2)
    return {invalid("spec.cidrs", after, "field is immutable")};
  for (std::size_t i = 0; i < before.size(); ++i)
    if (after[i] != before[i])
      return {invalid("spec.cidrs[" + std::to_string(i) + "]", after[i], "field is immutable")};
  return after.size() > before.size() ? validate_ranges(next, ctx) : FieldErrors();
}

void drop_range_status(Json& object, const RuleContext&) {
  put(object, table_type(kNetGroup, "v1", "ServiceCIDR"), "status", Json::object());
}

}  // namespace

void adjust_ip_addresses(KindRules& rules) {
  rules.name_problems = address_name_problems;
  rules.validate_create = validate_address;
  rules.validate_update = validate_address_update;
}

void adjust_service_cidrs(KindRules& rules) {
  rules.prepare_create = drop_range_status;
  rules.validate_create = validate_ranges;
  rules.validate_update = validate_ranges_update;
}

}  // namespace berth::api
