#include "api/kinds/scheduling_kinds.h"
#include "api/kinds/scheduling_parts.h"
#include "api/types/health_policy.h"

namespace berth::api {
namespace {

constexpr std::size_t kPatternBytesMax = 256;

FieldErrors check_period(const FieldPath& path, std::string_view text) {
  const Result<Duration> period = parse_duration(text);
  if (text.empty() || (period && *period >= Duration() && *period <= kHealthPolicyPeriodMax)) return {};
  return {invalid(path, text, "must be a duration from 0s to 24h, like 30s")};
}

FieldErrors check_effect(const FieldPath& path, const Json& spec) {
  const std::string_view effect = text_at(spec, "effect");
  if (effect.empty()) return {required(path.child("effect"))};
  if (effect != "None" && effect != "NoSchedule" && effect != "NoExecute")
    return {not_supported(path.child("effect"), effect, {"NoExecute", "NoSchedule", "None"})};
  if (effect == "NoExecute" && text_at(spec, "health") == "Unknown" && !spec.bool_at("evictUnknown"))
    return {forbidden(path.child("effect"),
                      "a device of which nobody knows evicts pods only with `evictUnknown: true`")};
  return {};
}

FieldErrors check_budgets(const FieldPath& path, const Json& spec) {
  const Json* found = present(spec, "budgets");
  const Json none = Json::object();
  const Json& budgets = found ? *found : none;
  FieldErrors errors;
  for (const char* scope : {"node", "rack", "cluster"})
    if (const std::int64_t count = budgets.int_at(scope); count < 0)
      errors.push_back(invalid(path.child(scope), count, "must be greater than or equal to 0"));
  if (text_at(spec, "effect") == "NoExecute" && !present(budgets, "cluster"))
    errors.push_back(required(path.child("cluster"), "effect NoExecute needs a bound"));
  const std::string_view label = text_at(budgets, "rackLabel");
  if (!label.empty()) append(errors, check_format(path.child("rackLabel"), label, qualified_name_problems));
  if (present(budgets, "rack") && label.empty())
    errors.push_back(required(path.child("rackLabel"), "names the label of nodes whose value is the rack"));
  return errors;
}

FieldErrors validate(const Json& policy, const RuleContext&) {
  static const Json kNone = Json::object();
  const FieldPath path("spec");
  const Json* found = present(policy, "spec");
  const Json& spec = found ? *found : kNone;
  FieldErrors errors = check_required(path.child("driver"), text_at(spec, "driver"), dns_subdomain_problems);
  const std::string_view health = text_at(spec, "health");
  if (!health.empty() && health != "Unhealthy" && health != "Unknown")
    errors.push_back(not_supported(path.child("health"), health, {"Unhealthy", "Unknown"}));
  if (text_at(spec, "messagePattern").size() > kPatternBytesMax)
    errors.push_back(too_long(path.child("messagePattern"), kPatternBytesMax));
  append(errors, check_period(path.child("holdFor"), text_at(spec, "holdFor")));
  append(errors, check_period(path.child("recoverAfter"), text_at(spec, "recoverAfter")));
  append(errors, check_effect(path, spec));
  append(errors, check_budgets(path.child("budgets"), spec));
  return errors;
}

}  // namespace

KindRules device_health_policy_rules() {
  KindRules rules;
  rules.group = kBerthGroup;
  rules.resource = "devicehealthpolicies";
  rules.has_generation = true;
  rules.prepare_create = [](Json& policy, const RuleContext&) { policy.as_object().erase("status"); };
  rules.validate_create = validate;
  return rules;
}

}  // namespace berth::api
