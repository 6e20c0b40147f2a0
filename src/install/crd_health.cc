// The definitions of DeviceHealthPolicies and of NodeDeviceHealths.
#include "api/types/node_device_health.h"
#include "install/crd_parts.h"
#include "install/crd_schema.h"

namespace berth::install {
namespace {

constexpr PrinterColumn kPolicyColumns[] = {
    {"Driver", "string", ".spec.driver"},
    {"Health", "string", ".spec.health"},
    {"Effect", "string", ".spec.effect"},
    {"Matching", "integer", ".status.matchingDevices"},
    {"Tainted", "integer", ".status.taintedDevices"},
    {"Over-Budget", "integer", ".status.devicesOverBudget"},
    {"Age", "date", ".metadata.creationTimestamp"},
};
constexpr PrinterColumn kNodeHealthColumns[] = {
    {"Healthy", "integer", ".spec.healthy"},        {"Unhealthy", "integer", ".spec.unhealthy"},
    {"Unknown", "integer", ".spec.unknown"},        {"Observed", "date", ".spec.observed"},
    {"Age", "date", ".metadata.creationTimestamp"},
};

constexpr std::int64_t kPatternLengthMax = 256;
constexpr std::int64_t kRackLabelLengthMax = 317;  // of a label with its prefix
constexpr std::int64_t kPoolLengthMax = 253;
constexpr std::string_view kHealths = "Healthy,Unhealthy,Unknown";

constexpr Bound kPolicyBounds[] = {
    {"spec.driver", Limit::Subdomain},
    {"spec.health", Limit::OneOfOrNone, 0, "Unhealthy,Unknown"},
    {"spec.messagePattern", Limit::LengthMax, kPatternLengthMax},
    {"spec.holdFor", Limit::Duration},
    {"spec.recoverAfter", Limit::Duration},
    {"spec.effect", Limit::OneOf, 0, "NoExecute,NoSchedule,None"},
    {"spec.budgets.node", Limit::NotNegative},
    {"spec.budgets.rack", Limit::NotNegative},
    {"spec.budgets.cluster", Limit::NotNegative},
    {"spec.budgets.rackLabel", Limit::LengthMax, kRackLabelLengthMax},
    {"status.matchingDevices", Limit::NotNegative},
    {"status.taintedDevices", Limit::NotNegative},
    {"status.devicesOverBudget", Limit::NotNegative},
};
constexpr Bound kNodeHealthBounds[] = {
    {"spec.healthy", Limit::NotNegative},
    {"spec.unhealthy", Limit::NotNegative},
    {"spec.unknown", Limit::NotNegative},
    {"spec.omitted", Limit::NotNegative},
    {"spec.devices", Limit::ItemsMax, static_cast<std::int64_t>(api::kNodeHealthDevicesMax)},
    {"spec.devices.[].driver", Limit::Subdomain},
    {"spec.devices.[].pool", Limit::Text, kPoolLengthMax},
    {"spec.devices.[].device", Limit::Label},
    {"spec.devices.[].health", Limit::OneOf, 0, kHealths},
    {"spec.devices.[].message", Limit::LengthMax, static_cast<std::int64_t>(api::kNodeHealthMessageBytesMax)},
    {"spec.silentDrivers", Limit::ItemsMax, static_cast<std::int64_t>(api::kNodeHealthDriversMax)},
    {"spec.silentDrivers.[].driver", Limit::Subdomain},
    {"spec.silentDrivers.[].reason", Limit::Text, 64},
};

std::string period_rule(std::string_view name) {
  const std::string text = member_or("self.spec", name, "''");
  return text + " == '' || duration(" + text + ") <= duration('24h')";
}

Json policy_rules_json() {
  const std::string evicts = "self.spec.effect != 'NoExecute'";
  return Json::array({
      cel_rule(period_rule("holdFor"), "must be a duration from 0s to 24h, like 30s", ".spec.holdFor"),
      cel_rule(period_rule("recoverAfter"), "must be a duration from 0s to 24h, like 30s",
               ".spec.recoverAfter"),
      cel_rule(evicts + " || " + member_or("self.spec", "health", "''") + " != 'Unknown' || " +
                   member_or("self.spec", "evictUnknown", "false"),
               "a device of which nobody knows evicts pods only with `evictUnknown: true`", ".spec.effect"),
      cel_rule(evicts + " || (has(self.spec.budgets) && has(self.spec.budgets.cluster))",
               "effect NoExecute needs a bound: budgets.cluster", ".spec.budgets"),
      cel_rule("!has(self.spec.budgets) || !has(self.spec.budgets.rack) || " +
                   member_or("self.spec.budgets", "rackLabel", "''") + " != ''",
               "budgets.rack needs rackLabel: the label of nodes whose value is the rack", ".spec.budgets"),
  });
}

}  // namespace

std::span<const PrinterColumn> health_policy_columns() {
  return kPolicyColumns;
}

std::span<const PrinterColumn> node_health_columns() {
  return kNodeHealthColumns;
}

Json health_policy_crd() {
  Json schema = structural_schema(own_type("DeviceHealthPolicy"));
  narrow(schema, kPolicyBounds);
  schema["x-kubernetes-validations"] = policy_rules_json();
  return definition_object({"devicehealthpolicies", kPolicyColumns, std::move(schema)});
}

Json node_health_crd() {
  Json schema = structural_schema(own_type("NodeDeviceHealth"));
  narrow(schema, kNodeHealthBounds);
  return definition_object({"nodedevicehealths", kNodeHealthColumns, std::move(schema)});
}

}  // namespace berth::install
