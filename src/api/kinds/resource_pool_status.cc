#include "api/kinds/resource_other.h"
#include "api/kinds/resource_parts.h"

namespace berth::api {
namespace {

constexpr std::int64_t kLimitDefault = 100;
constexpr std::int64_t kLimitMax = 1000;
constexpr std::size_t kConditionsMax = 10;
constexpr std::size_t kPoolsMax = 1000;

const TypeInfo& request_type(std::string_view name) {
  return table_type("resource.k8s.io", "v1alpha3", name);
}

FieldErrors validate(const Json& request, const RuleContext&) {
  static const Json kNone = Json::object();
  const FieldPath path("spec");
  const Json* found = present(request, "spec");
  const Json& spec = found ? *found : kNone;
  FieldErrors errors = check_declared_driver(path.child("driver"), text_at(spec, "driver"));
  if (const Json* pool = present(spec, "poolName"))
    append(errors, check_format(path.child("poolName"), pool->as_string(), pool_segments));
  const std::int64_t limit = spec.int_at("limit", kLimitDefault);
  if (limit < 1) errors.push_back(invalid(path.child("limit"), limit, "must be greater than or equal to 1"));
  if (limit > kLimitMax)
    errors.push_back(invalid(path.child("limit"), limit, "must be less than or equal to 1000"));
  if (const Json* attribute = present(spec, "defaultPartitionTypeAttribute"))
    append(errors, check_full_name(path.child("defaultPartitionTypeAttribute"), attribute->as_string()));
  return errors;
}

FieldErrors validate_update(const Json& next, const Json& old, const RuleContext&) {
  if (same(present(next, "spec"), present(old, "spec"))) return {};
  return {invalid("spec", nullptr, "field is immutable")};
}

// The status is written once.
FieldErrors validate_status(const Json& next, const Json& old, const RuleContext&) {
  const Json* status = present(next, "status");
  const Json* stored = present(old, "status");
  const FieldPath path("status");
  if (stored) {
    if (same(status, stored)) return {};
    const Json form = status ? go_form(*status, request_type("ResourcePoolStatusRequestStatus")) : Json();
    return {invalid(path, form, "field is immutable")};
  }
  FieldErrors errors = check_count(path.child("pools"), items(status, "pools").size(), kPoolsMax);
  append(errors, check_conditions(path.child("conditions"), items(status, "conditions"), kConditionsMax));
  return errors;
}

}  // namespace

KindRules pool_status_request_rules() {
  KindRules rules;
  rules.group = "resource.k8s.io";
  rules.resource = "resourcepoolstatusrequests";
  rules.needs_version_on_update = true;
  rules.answers_deleted_object = true;
  rules.set_defaults = [](Json& request) {
    if (Json* spec = present(request, "spec"); spec && !present(*spec, "limit"))
      put(*spec, request_type("ResourcePoolStatusRequestSpec"), "limit", kLimitDefault);
  };
  rules.prepare_create = [](Json& request, const RuleContext& ctx) {
    request.as_object().erase("status");
    drop_gated_fields(request_type("ResourcePoolStatusRequest"), request, nullptr, ctx.gates);
  };
  rules.prepare_update = [](Json& next, const Json& old, const RuleContext& ctx) {
    drop_gated_fields(request_type("ResourcePoolStatusRequest"), next, &old, ctx.gates);
  };
  rules.validate_create = validate;
  rules.validate_update = validate_update;
  rules.validate_status_update = validate_status;
  return rules;
}

}  // namespace berth::api
