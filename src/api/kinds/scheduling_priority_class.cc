#include <algorithm>

#include "api/kinds/scheduling_kinds.h"
#include "api/kinds/scheduling_parts.h"

namespace berth::api {
namespace {

struct SystemClass {
  std::string_view name;
  std::int64_t value;
};

constexpr std::string_view kSystemPrefix = "system-";
constexpr SystemClass kSystemClasses[] = {{"system-node-critical", 2000001000},
                                          {"system-cluster-critical", 2000000000}};

const SystemClass* system_class(std::string_view name) {
  const auto* found = std::find_if(std::begin(kSystemClasses), std::end(kSystemClasses),
                                   [&](const SystemClass& known) { return known.name == name; });
  return found == std::end(kSystemClasses) ? nullptr : found;
}

std::string_view name_of(const Json& object) {
  const Json* name = present_at(object, {"metadata", "name"});
  return name ? std::string_view(name->as_string()) : "";
}

FieldErrors check_system_class(const Json& object) {
  const std::string_view name = name_of(object);
  const SystemClass* known = system_class(name);
  constexpr std::string_view kReserved =
      "priority class names with 'system-' prefix are reserved for system use only. error: ";
  std::string why;
  if (!known)
    why = std::string(name) + " is not a known system priority class";
  else if (object.int_at("value") != known->value)
    why = "value of " + std::string(name) + " PriorityClass must be " + std::to_string(known->value);
  else if (object.bool_at("globalDefault"))
    why = "globalDefault of " + std::string(name) + " PriorityClass must be false";
  else
    return {};
  return {forbidden("metadata.name", std::string(kReserved) + why)};
}

FieldErrors validate(const Json& object, const RuleContext&) {
  FieldErrors errors;
  if (name_of(object).starts_with(kSystemPrefix))
    append(errors, check_system_class(object));
  else if (object.int_at("value") > kUserPriorityMax)
    errors.push_back(forbidden(
        "value", "maximum allowed value of a user defined priority is " + std::to_string(kUserPriorityMax)));
  const std::string_view policy = text_at(object, "preemptionPolicy");
  if (policy.empty() && present(object, "preemptionPolicy"))
    errors.push_back(required("preemptionPolicy"));
  else if (!policy.empty() && policy != "PreemptLowerPriority" && policy != "Never")
    errors.push_back(not_supported("preemptionPolicy", policy, {"PreemptLowerPriority", "Never"}));
  return errors;
}

FieldErrors validate_update(const Json& next, const Json& old, const RuleContext&) {
  FieldErrors errors;
  if (next.int_at("value") != old.int_at("value"))
    errors.push_back(forbidden("value", "may not be changed in an update."));
  if (const Json* policy = present(next, "preemptionPolicy"); !same(policy, present(old, "preemptionPolicy")))
    errors.push_back(invalid("preemptionPolicy", value_or_null(policy), "field is immutable"));
  return errors;
}

std::optional<Rejection> check_one_default(const Json& object, const RuleContext& ctx) {
  if (!object.bool_at("globalDefault")) return std::nullopt;
  for (const Json& other : ctx.list("priorityclasses.scheduling.k8s.io", kIsGlobalDefault))
    if (other.bool_at("globalDefault") && name_of(other) != name_of(object))
      return Rejection{403, "Forbidden",
                       "PriorityClass " + std::string(name_of(other)) +
                           " is already marked as default. Only one default can exist"};
  return std::nullopt;
}

}  // namespace

KindRules priority_class_rules() {
  KindRules rules;
  rules.group = "scheduling.k8s.io";
  rules.resource = "priorityclasses";
  rules.has_generation = true;
  rules.generation_rule = GenerationRule::Constant;
  rules.set_defaults = [](Json& object) {
    if (!present(object, "preemptionPolicy"))
      put(object, table_type("scheduling.k8s.io", "v1", "PriorityClass"), "preemptionPolicy",
          "PreemptLowerPriority");
  };
  rules.validate_create = validate;
  rules.validate_update = validate_update;
  rules.admit_create = [](Json& object, const RuleContext& ctx) { return check_one_default(object, ctx); };
  rules.admit_update = [](Json& next, const Json&, const RuleContext& ctx) {
    return check_one_default(next, ctx);
  };
  rules.admit_delete = [](const Json& old, const RuleContext&) -> std::optional<Rejection> {
    if (!system_class(name_of(old))) return std::nullopt;
    return Rejection{403, "Forbidden", "this is a system priority class and cannot be deleted"};
  };
  return rules;
}

}  // namespace berth::api
