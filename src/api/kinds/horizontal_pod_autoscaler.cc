// Defaults and validation of autoscaling/v2 HorizontalPodAutoscaler.
//
// Source: Kubernetes' API reference; texts and the order of errors of pkg/apis/autoscaling/validation (1.37).
#include <algorithm>
#include <vector>

#include "api/kinds/core_parts.h"
#include "api/kinds/stored_kinds.h"
#include "api/names.h"
#include "base/quantity.h"

namespace berth::api {
namespace {

constexpr std::string_view kGroup = "autoscaling", kVersion = "v2";
constexpr int kScalingPeriodSeconds = 15;
constexpr int kDefaultUtilization = 80;
constexpr std::int64_t kStabilizationSecondsMax = 3600, kPolicySecondsMax = 1800;

const TypeInfo& type_named(std::string_view name) {
  return table_type(kGroup, kVersion, name);
}

// What a rule of scaling lacks; rules for one direction bring those for the other.
void set_scaling_rule_defaults(Json& behavior, std::string_view direction, JsonArray policies) {
  static const TypeInfo& behavior_type = type_named("HorizontalPodAutoscalerBehavior");
  static const TypeInfo& type = type_named("HPAScalingRules");
  put_default(behavior, behavior_type, direction, Json::object());
  Json& rules = *present(behavior, direction);
  if (direction == "scaleUp") put_default(rules, type, "stabilizationWindowSeconds", 0);
  put_default(rules, type, "selectPolicy", "Max");
  put_default(rules, type, "policies", std::move(policies));
}

void set_autoscaler_defaults(Json& scaler) {
  static const TypeInfo& type = type_named("HorizontalPodAutoscalerSpec");
  Json* spec = present(scaler, "spec");
  if (!spec) return;
  put_default(*spec, type, "minReplicas", 1);
  if (items(*spec, "metrics").empty()) {
    Json target = Json::object({{"type", "Utilization"}, {"averageUtilization", kDefaultUtilization}});
    Json source = Json::object({{"name", "cpu"}, {"target", std::move(target)}});
    put(*spec, type, "metrics",
        Json::array({Json::object({{"type", "Resource"}, {"resource", std::move(source)}})}));
  }
  Json* behavior = present(*spec, "behavior");
  if (!behavior) return;
  const auto policy = [](const char* of, int value) {
    return Json::object({{"type", of}, {"value", value}, {"periodSeconds", kScalingPeriodSeconds}});
  };
  set_scaling_rule_defaults(*behavior, "scaleUp", {policy("Pods", 4), policy("Percent", 100)});
  set_scaling_rule_defaults(*behavior, "scaleDown", {policy("Percent", 100)});
}

FieldErrors check_reference(const FieldPath& path, const Json& reference) {
  FieldErrors errors;
  for (const std::string_view member : {"kind", "name"})
    append(errors, check_required(path.child(member), reference.string_at(member), path_segment_problems));
  const std::string_view version = reference.string_at("apiVersion");
  if (std::count(version.begin(), version.end(), '/') > 1)
    errors.push_back(invalid(path.child("apiVersion"), version,
                             "unexpected GroupVersion string: " + std::string(version)));
  return errors;
}

bool is_positive(const Json& amount) {
  const auto parsed = parse_quantity(amount.is_string() ? amount.as_string() : "");
  return parsed && !parsed->is_zero() && !parsed->is_negative();
}

FieldErrors check_target(const FieldPath& path, const Json& target) {
  FieldErrors errors;
  const std::string_view type = target.string_at("type");
  if (type.empty()) errors.push_back(required(path.child("type"), "must specify a metric target type"));
  if (type != "Utilization" && type != "Value" && type != "AverageValue")
    errors.push_back(invalid(path.child("type"), type, "must be either Utilization, Value, or AverageValue"));
  for (const std::string_view value : {"value", "averageValue"})
    if (const Json* amount = present(target, value); amount && !is_positive(*amount))
      errors.push_back(invalid(path.child(value), *amount, "must be positive"));
  if (const Json* percent = present(target, "averageUtilization"); percent && percent->as_int() < 1)
    errors.push_back(invalid(path.child("averageUtilization"), *percent, "must be greater than 0"));
  return errors;
}

FieldErrors check_identifier(const FieldPath& path, const Json& metric) {
  if (metric.string_at("name").empty()) return {required(path.child("name"), "must specify a metric name")};
  FieldErrors errors = check_format(path.child("name"), metric.string_at("name"), path_segment_problems);
  if (const Json* selector = present(metric, "selector"))
    append(errors, check_label_selector(path.child("selector"), *selector));
  return errors;
}

FieldErrors check_resource_source(const FieldPath& path, const Json& source) {
  FieldErrors errors;
  if (source.string_at("name").empty())
    errors.push_back(required(path.child("name"), "must specify a resource name"));
  const Json& target = source.part("target");
  append(errors, check_target(path.child("target"), target));
  const bool by_utilization = present(target, "averageUtilization"),
             by_value = present(target, "averageValue");
  if (!by_utilization && !by_value)
    errors.push_back(required(path.child("target").child("averageUtilization"),
                              "must set either a target raw value or a target utilization"));
  if (by_utilization && by_value)
    errors.push_back(forbidden(path.child("target").child("averageValue"),
                               "may not set both a target raw value and a target utilization"));
  return errors;
}

FieldErrors check_container_source(const FieldPath& path, const Json& source) {
  FieldErrors errors;
  if (source.string_at("container").empty())
    errors.push_back(required(path.child("container"), "must specify a container"));
  append(errors, check_resource_source(path, source));
  return errors;
}

FieldErrors check_pods_source(const FieldPath& path, const Json& source) {
  const Json& target = source.part("target");
  FieldErrors errors = check_identifier(path.child("metric"), source.part("metric"));
  append(errors, check_target(path.child("target"), target));
  const Json* average = present(target, "averageValue");
  if (!average || !is_positive(*average))
    errors.push_back(
        required(path.child("target").child("averageValue"), "must specify a positive target averageValue"));
  return errors;
}

FieldErrors check_object_source(const FieldPath& path, const Json& source) {
  const Json& target = source.part("target");
  FieldErrors errors = check_reference(path.child("describedObject"), source.part("describedObject"));
  append(errors, check_identifier(path.child("metric"), source.part("metric")));
  append(errors, check_target(path.child("target"), target));
  if (!present(target, "value") && !present(target, "averageValue"))
    errors.push_back(required(path.child("target").child("averageValue"),
                              "must set either a target value or averageValue"));
  return errors;
}

FieldErrors check_external_source(const FieldPath& path, const Json& source) {
  const Json& target = source.part("target");
  FieldErrors errors = check_identifier(path.child("metric"), source.part("metric"));
  append(errors, check_target(path.child("target"), target));
  const bool by_value = present(target, "value"), by_average = present(target, "averageValue");
  if (!by_value && !by_average)
    errors.push_back(required(path.child("target").child("averageValue"),
                              "must set either a target value for metric or a per-pod target"));
  if (by_value && by_average)
    errors.push_back(forbidden(path.child("target").child("value"),
                               "may not set both a target value for metric and a per-pod target"));
  return errors;
}

struct MetricSourceRow {
  std::string_view type, member;
  FieldErrors (*check)(const FieldPath& path, const Json& source);
};
constexpr MetricSourceRow kMetricSources[] = {
    {"Object", "object", check_object_source},
    {"External", "external", check_external_source},
    {"Pods", "pods", check_pods_source},
    {"Resource", "resource", check_resource_source},
    {"ContainerResource", "containerResource", check_container_source},
};

FieldErrors check_metric(const FieldPath& path, const Json& metric) {
  FieldErrors errors;
  const std::string_view type = metric.string_at("type");
  const auto expected = std::ranges::find(kMetricSources, type, &MetricSourceRow::type);
  if (type.empty()) errors.push_back(required(path.child("type"), "must specify a metric source type"));
  if (expected == std::end(kMetricSources))
    errors.push_back(not_supported(path.child("type"), type,
                                   {"ContainerResource", "External", "Object", "Pods", "Resource"}));
  bool any = false;
  for (const MetricSourceRow& row : kMetricSources) {
    const Json* source = present(metric, row.member);
    if (!source) continue;
    if (!std::exchange(any, true)) append(errors, row.check(path.child(row.member), *source));
  }
  if (expected == std::end(kMetricSources)) return errors;
  if (!present(metric, expected->member))
    errors.push_back(
        required(path.child(expected->member), "must populate information for the given metric source"));
  for (const MetricSourceRow& row : kMetricSources)
    if (&row != expected && present(metric, row.member))
      errors.push_back(forbidden(path.child(row.member), "must populate the given metric source only"));
  return errors;
}

FieldErrors check_policy(const FieldPath& path, const Json& policy) {
  FieldErrors errors;
  const std::string_view type = policy.string_at("type");
  if (type != "Pods" && type != "Percent")
    errors.push_back(not_supported(path.child("type"), type, {"Percent", "Pods"}));
  for (const std::string_view number : {"value", "periodSeconds"})
    if (const std::int64_t value = policy.int_at(number); value <= 0)
      errors.push_back(invalid(path.child(number), value, "must be greater than zero"));
  if (const std::int64_t period = policy.int_at("periodSeconds"); period > kPolicySecondsMax)
    errors.push_back(invalid(path.child("periodSeconds"), period,
                             "must be less than or equal to " + std::to_string(kPolicySecondsMax)));
  return errors;
}

FieldErrors check_scaling_rules(const FieldPath& path, const Json& rules) {
  FieldErrors errors;
  const std::int64_t window = rules.int_at("stabilizationWindowSeconds");
  const FieldPath at = path.child("stabilizationWindowSeconds");
  if (window < 0) errors.push_back(invalid(at, window, "must be greater than or equal to zero"));
  if (window > kStabilizationSecondsMax)
    errors.push_back(
        invalid(at, window, "must be less than or equal to " + std::to_string(kStabilizationSecondsMax)));
  if (const Json* select = present(rules, "selectPolicy")) {
    const std::string_view word = rules.string_at("selectPolicy");
    if (word != "Max" && word != "Min" && word != "Disabled")
      errors.push_back(not_supported(path.child("selectPolicy"), *select, {"Disabled", "Max", "Min"}));
  }
  const JsonArray& policies = items(&rules, "policies");
  if (policies.empty())
    errors.push_back(required(path.child("policies"), "must specify at least one Policy"));
  for (std::size_t i = 0; i < policies.size() && !errors.full(); ++i)
    append(errors, check_policy(path.child("policies").index(i), policies[i]));
  if (const Json* tolerance = present(rules, "tolerance"))
    if (const auto part = parse_quantity(rules.string_at("tolerance")); part && part->is_negative())
      errors.push_back(invalid(path.child("tolerance"), *tolerance, "must be greater or equal to 0"));
  return errors;
}

FieldErrors check_autoscaler_spec(const FieldPath& path, const Json& spec) {
  FieldErrors errors;
  const std::int64_t least = spec.int_at("minReplicas", 1), most = spec.int_at("maxReplicas");
  if (least < 1)
    errors.push_back(invalid(path.child("minReplicas"), least, "must be greater than or equal to 1"));
  if (most < 1) errors.push_back(invalid(path.child("maxReplicas"), most, "must be greater than 0"));
  if (most < least)
    errors.push_back(
        invalid(path.child("maxReplicas"), most, "must be greater than or equal to `minReplicas`"));
  append(errors, check_reference(path.child("scaleTargetRef"), spec.part("scaleTargetRef")));
  const JsonArray& metrics = items(&spec, "metrics");
  for (std::size_t i = 0; i < metrics.size() && !errors.full(); ++i)
    append(errors, check_metric(path.child("metrics").index(i), metrics[i]));
  if (const Json* behavior = present(spec, "behavior"))
    for (const std::string_view direction : {"scaleUp", "scaleDown"})
      if (const Json* rules = present(*behavior, direction))
        append(errors, check_scaling_rules(path.child("behavior").child(direction), *rules));
  return errors;
}

FieldErrors validate_autoscaler(const Json& scaler, const RuleContext&) {
  return check_autoscaler_spec(FieldPath("spec"), scaler.part("spec"));
}

}  // namespace

void adjust_autoscalers(KindRules& rules) {
  rules.set_defaults = set_autoscaler_defaults;
  rules.validate_create = validate_autoscaler;
  rules.validate_status_update = [](const Json& next, const Json&, const RuleContext&) {
    const Json& status = next.part("status");
    FieldErrors errors = check_not_negative("status.currentReplicas", status, "currentReplicas");
    append(errors, check_not_negative("status.desiredReplicas", status, "desiredReplicas"));
    return errors;
  };
}

}  // namespace berth::api
