#include "api/kinds/scheduling_kinds.h"
#include "api/kinds/scheduling_parts.h"
#include "api/types/node_device_health.h"

namespace berth::api {
namespace {

constexpr std::size_t kPoolBytesMax = 253;

FieldErrors check_reported_device(const FieldPath& path, const Json& device) {
  FieldErrors errors =
      check_required(path.child("driver"), text_at(device, "driver"), dns_subdomain_problems);
  const std::string_view pool = text_at(device, "pool");
  if (pool.empty()) errors.push_back(required(path.child("pool")));
  if (pool.size() > kPoolBytesMax) errors.push_back(too_long(path.child("pool"), kPoolBytesMax));
  append(errors, check_required(path.child("device"), text_at(device, "device"), dns_label_problems));
  const std::string_view health = text_at(device, "health");
  if (health != "Healthy" && health != "Unhealthy" && health != "Unknown")
    errors.push_back(not_supported(path.child("health"), health, {"Healthy", "Unhealthy", "Unknown"}));
  if (text_at(device, "message").size() > kNodeHealthMessageBytesMax)
    errors.push_back(too_long(path.child("message"), kNodeHealthMessageBytesMax));
  return errors;
}

FieldErrors validate_report(const Json& report, const RuleContext&) {
  static const Json kNone = Json::object();
  const FieldPath path("spec");
  const Json* found = present(report, "spec");
  const Json& spec = found ? *found : kNone;
  FieldErrors errors;
  for (const char* count : {"healthy", "unhealthy", "unknown", "omitted"})
    if (spec.int_at(count) < 0)
      errors.push_back(invalid(path.child(count), spec.int_at(count), "must be greater than or equal to 0"));
  const JsonArray& devices = spec.items_at("devices");
  if (devices.size() > kNodeHealthDevicesMax)
    errors.push_back(too_many(path.child("devices"), devices.size(), kNodeHealthDevicesMax));
  for (std::size_t i = 0; i < devices.size() && i < kNodeHealthDevicesMax; ++i)
    append(errors, check_reported_device(FieldPath(path.child("devices").index(i)), devices[i]));
  const JsonArray& silent = spec.items_at("silentDrivers");
  if (silent.size() > kNodeHealthDriversMax)
    errors.push_back(too_many(path.child("silentDrivers"), silent.size(), kNodeHealthDriversMax));
  return errors;
}

}  // namespace

KindRules node_device_health_rules() {
  KindRules rules;
  rules.group = kBerthGroup;
  rules.resource = "nodedevicehealths";
  rules.has_generation = true;
  rules.validate_create = validate_report;
  return rules;
}

}  // namespace berth::api
