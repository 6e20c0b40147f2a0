// Rules of events: they are stored as core/v1; events.k8s.io/v1 requires more.
#include "api/kinds/core_kinds.h"
#include "api/kinds/core_parts.h"

namespace berth::api {
namespace {

constexpr std::string_view kNewGroup = "events.k8s.io";
constexpr std::string_view kOtherNamespace = "does not match event.namespace";
constexpr std::size_t kWordBytesMax = 128;
constexpr std::size_t kMessageBytesMax = 1024;
constexpr int kSeriesCountMin = 2;

FieldErrors check_word(const std::string& path, const Json& event, std::string_view key) {
  const std::string_view word = event.string_at(key);
  if (word.empty()) return {required(path)};
  if (word.size() <= kWordBytesMax) return {};
  return {invalid(path, "", "can have at most " + std::to_string(kWordBytesMax) + " characters")};
}

// Events in the form that current recorders write have a time.
FieldErrors check_reported(const Json& event, const RuleContext& ctx) {
  const std::string controller =
      ctx.request_group == kNewGroup ? "reportingController" : "reportingComponent";
  FieldErrors errors;
  if (event.string_at("reportingComponent").empty()) errors.push_back(required(controller));
  append(errors, check_format(controller, event.string_at("reportingComponent"), qualified_name_problems));
  for (std::string_view key : {"reportingInstance", "action", "reason"})
    append(errors, check_word(std::string(key), event, key));
  if (event.string_at("message").size() > kMessageBytesMax)
    errors.push_back(
        invalid("message", "", "can have at most " + std::to_string(kMessageBytesMax) + " characters"));
  return errors;
}

FieldErrors check_event(const Json& event, const RuleContext& ctx) {
  const std::string_view ns = event.find("metadata")->string_at("namespace");
  const Json* object = present(event, "involvedObject");
  const std::string_view object_ns = object ? object->string_at("namespace") : "";
  const bool timed = present(event, "eventTime");
  // Objects without a namespace are reported in "default".
  const bool in_default = ns == "default" || (timed ? ns == "kube-system" : ns.empty());
  const bool agrees = object_ns.empty() ? in_default : timed || object_ns == ns;
  FieldErrors errors;
  if (!agrees) errors.push_back(invalid("involvedObject.namespace", object_ns, kOtherNamespace));
  if (timed) append(errors, check_reported(event, ctx));
  return errors;
}

FieldErrors check_series(const Json& event) {
  const Json* series = present(event, "series");
  if (!series) return {};
  FieldErrors errors;
  if (series->int_at("count") < kSeriesCountMin)
    errors.push_back(invalid("series.count", "", "should be at least 2"));
  if (!present(*series, "lastObservedTime")) errors.push_back(required("series.lastObservedTime"));
  return errors;
}

FieldErrors validate_create(const Json& event, const RuleContext& ctx) {
  FieldErrors errors = check_event(event, ctx);
  if (ctx.request_group != kNewGroup) return errors;
  append(errors,
         check_format("metadata.name", event.find("metadata")->string_at("name"), dns_subdomain_problems));
  append(errors, check_series(event));
  if (!present(event, "eventTime")) errors.push_back(required("eventTime"));
  const std::string type(event.string_at("type"));
  if (type != "Normal" && type != "Warning")
    errors.push_back(invalid("type", "", "has invalid value: " + type));
  for (std::string_view key : {"firstTimestamp", "lastTimestamp"})
    if (present(event, key)) errors.push_back(invalid(std::string(key), "", "needs to be unset"));
  if (event.int_at("count") != 0) errors.push_back(invalid("count", "", "needs to be unset"));
  if (!entries(present(event, "source")).empty())
    errors.push_back(invalid("source", "", "needs to be unset"));
  return errors;
}

// The reference shows its own struct of a reference.
FieldError changed(const Json& event, std::string_view key) {
  const Json* value = present(event, key);
  const bool refers = value && (key == "involvedObject" || key == "related");
  return invalid(std::string(key),
                 refers ? go_form(*value, core_type("ObjectReference")) : value_or_null(value),
                 "field is immutable");
}

// Through events.k8s.io only the series of an event may change.
FieldErrors validate_update(const Json& next, const Json& old, const RuleContext& ctx) {
  FieldErrors errors = check_event(next, ctx);
  if (ctx.request_group != kNewGroup) return errors;
  if (!same(present(next, "series"), present(old, "series"))) append(errors, check_series(next));
  for (std::string_view key :
       {"involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type",
        "eventTime", "action", "related", "reportingComponent", "reportingInstance"})
    if (!same(present(next, key), present(old, key))) errors.push_back(changed(next, key));
  return errors;
}

}  // namespace

KindRules event_rules() {
  KindRules rules;
  rules.resource = "events";
  rules.create_on_update = true;
  rules.plain_finalizers = true;
  rules.name_rule = NameRule::PathSegment;  // recorders of core/v1 write what they like
  rules.validate_create = validate_create;
  rules.validate_update = validate_update;
  return rules;
}

}  // namespace berth::api
