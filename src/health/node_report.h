// A NodeDeviceHealth object: what it says of a node's devices, and how it is read.
//
// Pure. Written by the agent next to a kubelet (report_publisher.h), read by the policies (health_policy.h).
// Bounds: api/types/node_device_health.h; devices that are not Healthy come first, so those beyond a bound
// are healthy ones as long as there are some.
#pragma once

#include "api/types/node_device_health.h"
#include "base/json.h"
#include "health/health_cache.h"

namespace berth::health {

inline constexpr std::size_t kNodeReportBytesMax = 1 << 20;  // below what the API server stores
// Readers believe a report for api::kNodeHealthSilenceMax after they saw it change.
inline constexpr Duration kReportRenewPeriod = Duration::seconds(60);
inline constexpr Duration kReportSilenceMax = api::kNodeHealthSilenceMax;

// The health of one device, and since when, by the agent's clock.
struct ReportedHealth {
  DeviceHealth health;
  Time since;
};
using ReportedDevices = std::map<std::string, std::map<DeviceName, ReportedHealth>>;  // by driver
// Drivers whose devices nobody reports, and why: "NoHealthService", "LeftToKubelet".
using SilentDrivers = std::map<std::string, std::string_view>;

SilentDrivers silent_drivers(const HealthSnapshot& health);
// spec of the object, without `observed`; absent members are null, as a merge patch needs them.
Json report_spec(const ReportedDevices& devices, const SilentDrivers& silent);
// The devices of an object, no matter who wrote it; entries that are no device are left out.
ReportedDevices read_report(const Json& object);
// What readers of a feed see.
std::shared_ptr<const HealthSnapshot> snapshot_of(const ReportedDevices& devices);
// The same devices, each Unknown for this reason.
std::shared_ptr<const HealthSnapshot> forgotten(const HealthSnapshot& health, const std::string& why);

}  // namespace berth::health
