// Which container of a node holds which devices of device plugins.
//
// Owner: one thread. Pure. A device has one holder, except that the containers of a pod may take over what
// its init containers had. Cost of choose(): O(devices of the resource + held devices). Source: kubelet's
// device manager.
#pragma once

#include <optional>

#include "base/result.h"
#include "health/plugin_devices.h"

namespace berth::health {

// A container that lacks the devices of one resource.
struct MissingDevices {
  const NodePod* pod = nullptr;
  const ContainerNeeds* container = nullptr;
  std::string resource;
  std::int64_t amount = 0;
};

class DeviceAllocations {
 public:
  // Ends the holdings of pods that are not among `pods`; true when there were any.
  bool retain(const NodePods& pods);
  // What the containers of the pod still lack, of resources that `resources` lists; the first, in the order
  // in which they start.
  std::optional<MissingDevices> missing(const NodePod& pod, const PluginResources& resources) const;

  struct Choice {
    std::vector<std::string> taken_over;  // of the pod's init containers
    std::vector<std::string> available;   // free ones
  };
  // What may be chosen from. Refuses with kubelet's sentence when it is too little.
  Result<Choice> candidates(const MissingDevices& missing, const PluginResource& resource) const;
  // The first of the choice.
  static std::vector<std::string> chosen(const Choice& choice, std::int64_t amount);

  void hold(const ContainerId& container, const std::string& resource, HeldDevices devices);
  const HeldByContainer& held() const { return held_; }
  void restore(HeldByContainer held) { held_ = std::move(held); }

 private:
  HeldByContainer held_;
};

}  // namespace berth::health
