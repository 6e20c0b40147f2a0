// The choice between several allocations on one node.
//
// Plain data; every room may include it. Whether a claim can be satisfied does not depend on it. Source:
// KEP-4381 leaves the choice to the allocator; Kubernetes has no scoring of devices.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::dra {

enum class DeviceScoring : std::uint8_t {
  Reference,         // the first in Kubernetes' order of search (allocator.h)
  LeastFragmenting,  // keeps counters and shared devices most useful (docs/devices.md); deterministic
};

struct DeviceScoringName {
  DeviceScoring scoring;
  std::string_view name;  // in configuration files and flags
};
inline constexpr std::array<DeviceScoringName, 2> kDeviceScorings = {{
    {DeviceScoring::Reference, "Reference"},
    {DeviceScoring::LeastFragmenting, "LeastFragmenting"},
}};

constexpr std::string_view name_of(DeviceScoring scoring) {
  return kDeviceScorings[static_cast<std::size_t>(scoring)].name;
}
// Nothing for a name that is not in the table; case-sensitive.
constexpr std::optional<DeviceScoring> device_scoring_of(std::string_view name) {
  for (const DeviceScoringName& row : kDeviceScorings)
    if (row.name == name) return row.scoring;
  return std::nullopt;
}
// All names, for the message about an unknown one: "Reference, LeastFragmenting".
inline std::string device_scoring_names() {
  std::string names;
  for (const DeviceScoringName& row : kDeviceScorings)
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

}  // namespace berth::dra
