#include "api/kinds/resource_other.h"
#include "api/kinds/resource_parts.h"

namespace berth::api {
namespace {

constexpr std::size_t kConditionsMax = 8;

FieldErrors check_device_selector(const FieldPath& path, const Json& selector) {
  FieldErrors errors;
  if (const Json* driver = present(selector, "driver"))
    append(errors, check_driver(path.child("driver"), driver->as_string()));
  if (const Json* pool = present(selector, "pool"))
    append(errors, check_pool_name(path.child("pool"), pool->as_string()));
  if (const Json* device = present(selector, "device"))
    append(errors, check_format(path.child("device"), device->as_string(), dns_label_problems));
  return errors;
}

FieldErrors validate(const Json& rule, const Json* old) {
  static const Json kNone = Json::object();
  const FieldPath path("spec");
  const Json* spec = present(rule, "spec");
  Findings findings;
  if (const Json* selector = present(spec, "deviceSelector"))
    findings.by_hand = check_device_selector(path.child("deviceSelector"), *selector);
  const Json* taint = present(spec, "taint");
  check_taint(path.child("taint"), taint ? *taint : kNone,
              old ? present_at(*old, {"spec", "taint"}) : nullptr, findings);
  return std::move(findings).all();
}

void stamp_taint(Json& rule, Time now) {
  Json* taint = present_at(rule, {"spec", "taint"});
  if (taint && !present(*taint, "timeAdded"))
    put(*taint, resource_type("DeviceTaint"), "timeAdded", format_time(now));
}

FieldErrors validate_status(const Json& next, const Json&, const RuleContext&) {
  return check_conditions(FieldPath("status.conditions"), items(present(next, "status"), "conditions"),
                          kConditionsMax);
}

}  // namespace

KindRules device_taint_rule_rules() {
  KindRules rules;
  rules.group = "resource.k8s.io";
  rules.resource = "devicetaintrules";
  rules.has_generation = true;
  rules.needs_version_on_update = true;
  rules.unversioned_updates = {"v1beta2", "v1alpha3"};
  rules.answers_deleted_object = true;
  rules.prepare_create = [](Json& rule, const RuleContext& ctx) {
    rule["status"] = Json::object();
    stamp_taint(rule, ctx.now);
  };
  rules.prepare_update = [](Json& next, const Json&, const RuleContext& ctx) { stamp_taint(next, ctx.now); };
  rules.validate_create = [](const Json& rule, const RuleContext&) { return validate(rule, nullptr); };
  rules.validate_update = [](const Json& next, const Json& old, const RuleContext&) {
    return validate(next, &old);
  };
  rules.validate_status_update = validate_status;
  return rules;
}

}  // namespace berth::api
