// Devices that device plugins list (v1beta1), and the containers of a node's pods that want and hold them.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "health/claim_info.h"
#include "health/health.h"

namespace berth::health {

inline constexpr std::size_t kPluginResourcesPerNodeMax = 64;
inline constexpr std::size_t kPluginDevicesMax = 8192;         // of one resource on one node
inline constexpr std::size_t kPluginDeviceIdBytesMax = 253;    // longer ones are left out
inline constexpr std::size_t kAllocateAnswerBytesMax = 65536;  // of one container and resource

struct PluginDevice {
  DeviceHealth health;       // Unknown: no plugin is registered that would tell
  bool allocatable = false;  // for containers that have none yet
  std::vector<std::int64_t> numa_nodes;
};

// One extended resource of a node.
struct PluginResource {
  bool registered = false;
  std::map<std::string, PluginDevice, std::less<>> devices;  // by id
};
using PluginResources = std::map<std::string, PluginResource, std::less<>>;  // by resource name

struct ContainerId {
  std::string pod_uid;
  std::string container;
  friend auto operator<=>(const ContainerId&, const ContainerId&) = default;
};

// What a container holds of one resource.
struct HeldDevices {
  std::vector<std::string> ids;  // sorted
  // The next containers of the pod may take them: of an init container that ends before they start.
  bool reusable = false;
  std::string answer;  // the plugin's ContainerAllocateResponse, as it came
  friend bool operator==(const HeldDevices&, const HeldDevices&) = default;
};
using HeldByResource = std::map<std::string, HeldDevices, std::less<>>;
using HeldByContainer = std::map<ContainerId, HeldByResource>;

// A device of a claim that a container names.
struct ClaimedDevice {
  std::string claim;  // the ResourceClaim's name
  std::string driver, pool, device, share_id;
  friend bool operator==(const ClaimedDevice&, const ClaimedDevice&) = default;
};

struct ContainerNeeds {
  enum class Runs { First, Beside, Regular };  // init container, sidecar, the pod's own
  std::string name;
  Runs runs = Runs::Regular;
  std::map<std::string, std::int64_t> amounts;  // of extended resources
  std::vector<ClaimedDevice> claimed;
  friend bool operator==(const ContainerNeeds&, const ContainerNeeds&) = default;
};

// A pod that is bound to the node and has not finished.
struct NodePod {
  std::string uid, ns, name;
  std::vector<ContainerNeeds> containers;  // in the order in which they start
  std::vector<NeededClaim> claims = {};    // those in the view, with drivers to call
  friend bool operator==(const NodePod&, const NodePod&) = default;
};
using NodePods = std::vector<NodePod>;  // the oldest first

}  // namespace berth::health
