// DeviceHealthPolicy of scheduling.berth.dev/v1alpha1: what follows from what a driver says about its
// devices.
#pragma once

#include <optional>

#include "api/kinds.h"

namespace berth::api {

inline constexpr std::string_view kHealthPolicyKind = "DeviceHealthPolicy";
inline constexpr Duration kHealthPolicyPeriodMax = Duration::minutes(24 * 60);
inline constexpr Duration kRecoverAfterDefault = Duration::minutes(5);

struct DeviceHealthPolicy {
  ObjectMeta meta;
  std::string driver;
  std::string health;           // Unhealthy, Unknown
  std::string message_pattern;  // "*" is any text; empty: every message
  Duration hold_for;            // the device matches for so long before anything follows
  Duration recover_after;       // it is Healthy for so long before the taint goes
  std::string effect;           // None, NoSchedule, NoExecute
  // How many devices this policy taints with NoExecute at once; the next ones get NoSchedule.
  std::optional<std::int64_t> per_node, per_rack, per_cluster;
  std::string rack_label;
};

ResourceRef health_policy_resource();
DeviceHealthPolicy decode_health_policy(const Json& object);
// Whether the whole text fits. Cost: O(pattern * text).
bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace berth::api
