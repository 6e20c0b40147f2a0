// How many devices nodes have, how many are in use, and how many a pod holds: plain counts.
//
// A device of a slice that belongs to one node counts as one; partitions of one counter set count as one
// together. So does a unit of an accelerator resource that the node offers, and a GPU that pods share.
// Devices that several nodes reach do not count. Reads the open transaction. Owner: one search, one thread.
// Cost: construction O(devices), then O(devices of the node) or of the pod.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "client/view.h"
#include "model/cluster.h"

namespace berth::placement {

// Extended resources of device plugins that count as devices, by name; one that ends with '-' is a prefix.
inline constexpr std::string_view kAcceleratorResources[] = {
    "nvidia.com/gpu",     "nvidia.com/mig-",       "amd.com/gpu",    "gpu.intel.com/xe",
    "gpu.intel.com/i915", "aws.amazon.com/neuron", "google.com/tpu", "habana.ai/gaudi",
};

class DeviceCounts {
 public:
  // Outlived by the cluster, whose nodes and slices do not change in its lifetime.
  explicit DeviceCounts(const model::Cluster& cluster);

  std::int64_t offered(model::NodeId node) const;
  std::int64_t used(model::NodeId node) const;
  // On its node now; 0 for a pod without a node.
  std::int64_t held(model::PodId pod) const;
  // Of its claims and requests, at least, before it has a node.
  std::int64_t asked(const client::View& view, const api::Pod& pod) const;

 private:
  struct Part {
    model::DeviceId device;
    std::uint32_t unit = 0;  // of the node
  };
  struct NodeDevices {
    std::vector<Part> parts;
    std::uint32_t units = 0;
  };
  struct Owner {
    model::NodeId node;  // none: several nodes reach it
    std::uint32_t unit = 0;
  };

  void read(model::NodeId node);

  const model::Cluster& cluster_;
  std::vector<model::ResourceId> accelerators_;
  std::vector<NodeDevices> nodes_;  // by node
  std::vector<Owner> owners_;       // by device
};

}  // namespace berth::placement
