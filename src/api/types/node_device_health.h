// NodeDeviceHealth of scheduling.berth.dev/v1alpha1: what a node's drivers say about its devices, by an
// agent next to the node's kubelet. Named like the node, and owned by it.
#pragma once

#include "api/kinds.h"

namespace berth::api {

inline constexpr std::string_view kNodeDeviceHealthKind = "NodeDeviceHealth";
inline constexpr std::size_t kNodeHealthDevicesMax = 2048;
inline constexpr std::size_t kNodeHealthDriversMax = 64;
inline constexpr std::size_t kNodeHealthMessageBytesMax = 256;
// A report that was not renewed for so long says nothing any more.
inline constexpr Duration kNodeHealthSilenceMax = Duration::seconds(180);

ResourceRef node_device_health_resource();

}  // namespace berth::api
