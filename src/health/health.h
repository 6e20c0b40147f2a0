// A driver's report about its devices, as plain values: no gRPC type leaves this room.
// Source: KEP-4680; wire format in proto/dra_health_v1.proto.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace berth::health {

enum class Health : std::uint8_t { Healthy, Unknown, Unhealthy };  // from best to worst

std::string_view name_of(Health health);
std::optional<Health> health_named(std::string_view name);

// A device of one driver on one node. Shares of a device have one health.
struct DeviceName {
  std::string pool;
  std::string device;
  friend auto operator<=>(const DeviceName&, const DeviceName&) = default;
};

// Whether a pod's status with this name passes the API server's validation.
bool is_reportable(const DeviceName& name);

struct DeviceHealth {
  Health health = Health::Unknown;
  std::string message;
  friend bool operator==(const DeviceHealth&, const DeviceHealth&) = default;
};

struct DeviceReport {
  DeviceName name;
  DeviceHealth health;
  std::int64_t timeout_s = 0;                 // the report is stale after it; 0 or less: the default
  std::vector<std::int64_t> numa_nodes = {};  // reported by device plugins alone
};

// One message of a driver: complete by its contract, often partial in practice.
using Reports = std::vector<DeviceReport>;

// The API server refuses a longer message, and the whole status with it.
inline constexpr std::size_t kMessageBytesMax = 1024;

// Truncated to `bytes_max` at a character boundary; a truncated text ends in three dots.
std::string bounded_message(std::string text, std::size_t bytes_max = kMessageBytesMax);

}  // namespace berth::health
