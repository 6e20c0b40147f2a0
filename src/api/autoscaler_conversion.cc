#include "api/autoscaler_conversion.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/ascii.h"

namespace berth::api {
namespace {

constexpr std::string_view kMetricsAnnotation = "autoscaling.alpha.kubernetes.io/metrics";
constexpr std::string_view kBehaviorAnnotation = "autoscaling.alpha.kubernetes.io/behavior";
constexpr std::string_view kCurrentAnnotation = "autoscaling.alpha.kubernetes.io/current-metrics";
constexpr std::string_view kConditionsAnnotation = "autoscaling.alpha.kubernetes.io/conditions";
constexpr std::string_view kCpuTarget = "targetCPUUtilizationPercentage";
constexpr std::string_view kCpuCurrent = "currentCPUUtilizationPercentage";

// Whether a metric says what is wanted or what is.
enum class MetricSide { Target, Current };

std::string_view side_member(MetricSide side) {
  return side == MetricSide::Target ? "target" : "current";
}

// One type of metric: v2 has the values in `target` or `current`, v1 next to the names.
struct MetricForm {
  std::string_view type, member;
  bool of_resource;            // named by itself, else by `metric`
  std::string_view selector;   // of v1
  bool plain_average = false;  // v1 says averageValue without "target" or "current"
};
constexpr MetricForm kMetricForms[] = {
    {"Resource", "resource", true, ""},
    {"ContainerResource", "containerResource", true, ""},
    {"Pods", "pods", false, "selector"},
    {"Object", "object", false, "selector", true},
    {"External", "external", false, "metricSelector"},
};
constexpr std::array<std::string_view, 3> kMetricValues = {"value", "averageValue", "averageUtilization"};

const MetricForm* form_of(const Json& metric) {
  for (const MetricForm& form : kMetricForms)
    if (form.type == metric.string_at("type")) return &form;
  return nullptr;
}

// "targetAverageValue" of "averageValue".
std::string name_in_v1(const MetricForm& form, std::string_view value, MetricSide side) {
  std::string name(value);
  if (form.plain_average && value == "averageValue") return name;
  name.front() = static_cast<char>(name.front() - 'a' + 'A');
  return std::string(side_member(side)) + name;
}

void copy_member(const Json& from, std::string_view member, Json& to, std::string_view as) {
  if (const Json* value = from.find(member); value && !value->is_null()) to[as] = *value;
}

Json metric_in_v1(const Json& metric, MetricSide side) {
  const MetricForm* form = form_of(metric);
  if (!form) return metric;
  const Json& source = metric.part(form->member);
  Json made = Json::object();
  if (form->of_resource) {
    copy_member(source, "name", made, "name");
    copy_member(source, "container", made, "container");
  } else {
    copy_member(source, "describedObject", made, "target");
    copy_member(source.part("metric"), "name", made, "metricName");
    copy_member(source.part("metric"), "selector", made, form->selector);
  }
  for (const std::string_view value : kMetricValues)
    copy_member(source.part(side_member(side)), value, made, name_in_v1(*form, value, side));
  Json whole = Json::object({{"type", form->type}});
  whole[form->member] = std::move(made);
  return whole;
}

Json metric_in_v2(const Json& metric, MetricSide side) {
  const MetricForm* form = form_of(metric);
  if (!form) return metric;
  const Json& source = metric.part(form->member);
  Json made = Json::object(), values = Json::object();
  if (form->of_resource) {
    copy_member(source, "name", made, "name");
    copy_member(source, "container", made, "container");
  } else {
    copy_member(source, "target", made, "describedObject");
    Json named = Json::object();
    copy_member(source, "metricName", named, "name");
    copy_member(source, form->selector, named, "selector");
    made["metric"] = std::move(named);
  }
  for (const std::string_view value : kMetricValues)
    copy_member(source, name_in_v1(*form, value, side), values, value);
  if (side == MetricSide::Target)
    values["type"] = values.find("averageUtilization") ? "Utilization"
                     : values.find("averageValue")     ? "AverageValue"
                                                       : "Value";
  made[side_member(side)] = std::move(values);
  Json whole = Json::object({{"type", form->type}});
  whole[form->member] = std::move(made);
  return whole;
}

// With names as Go has them ("SelectPolicy"), or as the API has them.
Json with_go_case(const Json& value, bool as_in_go) {
  if (value.is_array()) {
    JsonArray items;
    for (const Json& item : value.as_array()) items.push_back(with_go_case(item, as_in_go));
    return Json(std::move(items));
  }
  if (!value.is_object()) return value;
  Json made = Json::object();
  for (const JsonMember& member : value.as_object()) {
    std::string name = member.key;
    if (as_in_go && !name.empty() && is_lower(name.front()))
      name.front() = static_cast<char>(name.front() - 'a' + 'A');
    if (!as_in_go && !name.empty() && is_upper(name.front()))
      name.front() = static_cast<char>(name.front() - 'A' + 'a');
    if (!member.value.is_null()) made[name] = with_go_case(member.value, as_in_go);
  }
  return made;
}

// Takes an annotation away; nothing when it is absent or no JSON.
std::optional<Json> take_annotation(Json& autoscaler, std::string_view name) {
  Json* annotations = autoscaler["metadata"].find("annotations");
  const Json* text = annotations && annotations->is_object() ? annotations->find(name) : nullptr;
  if (!text || !text->is_string()) return std::nullopt;
  Result<Json> value = parse_json(text->as_string());
  annotations->as_object().erase(name);
  if (annotations->as_object().empty()) autoscaler["metadata"].as_object().erase("annotations");
  return value ? std::optional(*std::move(value)) : std::nullopt;
}

void annotate(Json& autoscaler, std::string_view name, const Json& value) {
  Json& annotations = autoscaler["metadata"]["annotations"];
  if (!annotations.is_object()) annotations = Json::object();
  annotations[name] = to_string(value);
}

Json converted_metrics(const Json& metrics, MetricSide side, Json (*convert)(const Json&, MetricSide)) {
  JsonArray made;
  if (metrics.is_array())
    for (const Json& metric : metrics.as_array()) made.push_back(convert(metric, side));
  return Json(std::move(made));
}

Json cpu_metric(const Json& percent, MetricSide side) {
  Json values = Json::object();
  if (side == MetricSide::Target) values["type"] = "Utilization";
  values["averageUtilization"] = percent;
  Json source = Json::object({{"name", "cpu"}});
  source[side_member(side)] = std::move(values);
  Json metric = Json::object({{"type", "Resource"}});
  metric["resource"] = std::move(source);
  return metric;
}

const Json* cpu_utilization_in(const Json& metric, MetricSide side) {
  const Json& source = metric.part("resource");
  if (metric.string_at("type") != "Resource" || source.string_at("name") != "cpu") return nullptr;
  return source.part(side_member(side)).find("averageUtilization");
}

}  // namespace

void autoscaler_to_stored(Json& autoscaler) {
  if (!autoscaler.is_object()) return;
  JsonArray metrics;
  if (const auto others = take_annotation(autoscaler, kMetricsAnnotation))
    metrics = converted_metrics(*others, MetricSide::Target, metric_in_v2).as_array();
  Json& spec = autoscaler["spec"];
  if (!spec.is_object()) spec = Json::object();
  if (const Json* percent = spec.find(kCpuTarget); percent && !percent->is_null())
    metrics.push_back(cpu_metric(*percent, MetricSide::Target));
  spec.as_object().erase(kCpuTarget);
  if (!metrics.empty()) spec["metrics"] = std::move(metrics);
  if (const auto behavior = take_annotation(autoscaler, kBehaviorAnnotation))
    autoscaler["spec"]["behavior"] = with_go_case(*behavior, false);

  Json& status = autoscaler["status"];
  if (!status.is_object()) status = Json::object();
  if (const Json* percent = status.find(kCpuCurrent); percent && !percent->is_null())
    status["currentMetrics"] = Json::array({cpu_metric(*percent, MetricSide::Current)});
  autoscaler["status"].as_object().erase(kCpuCurrent);
  if (const auto current = take_annotation(autoscaler, kCurrentAnnotation))
    autoscaler["status"]["currentMetrics"] = converted_metrics(*current, MetricSide::Current, metric_in_v2);
  if (auto conditions = take_annotation(autoscaler, kConditionsAnnotation))
    autoscaler["status"]["conditions"] = *std::move(conditions);
}

void autoscaler_to_served(Json& autoscaler) {
  if (!autoscaler.is_object()) return;
  Json spec = autoscaler.part("spec"), status = autoscaler.part("status");
  JsonArray others;
  for (const Json& metric : autoscaler.part("spec").items_at("metrics")) {
    const Json* percent = cpu_utilization_in(metric, MetricSide::Target);
    if (percent && !spec.find(kCpuTarget))
      spec[kCpuTarget] = *percent;
    else
      others.push_back(metric_in_v1(metric, MetricSide::Target));
  }
  const JsonArray& current = autoscaler.part("status").items_at("currentMetrics");
  for (const Json& metric : current)
    if (const Json* percent = cpu_utilization_in(metric, MetricSide::Current)) status[kCpuCurrent] = *percent;
  if (!others.empty()) annotate(autoscaler, kMetricsAnnotation, Json(std::move(others)));
  if (!current.empty())
    annotate(autoscaler, kCurrentAnnotation,
             converted_metrics(Json(current), MetricSide::Current, metric_in_v1));
  if (const Json* behavior = spec.find("behavior"); behavior && behavior->is_object())
    annotate(autoscaler, kBehaviorAnnotation, with_go_case(*behavior, true));
  if (const Json* conditions = status.find("conditions"); conditions && conditions->is_array())
    annotate(autoscaler, kConditionsAnnotation, *conditions);
  if (spec.is_object())
    for (const char* member : {"metrics", "behavior"}) spec.as_object().erase(member);
  if (status.is_object())
    for (const char* member : {"currentMetrics", "conditions"}) status.as_object().erase(member);
  autoscaler["spec"] = std::move(spec);
  autoscaler["status"] = std::move(status);
}

}  // namespace berth::api
