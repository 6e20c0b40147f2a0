// How much of a cluster's free GPUs is of no use to a workload: FGD's measure.
//
// Owner: one run. Cost: percent() O(nodes x demands). Source: placement/fragmentation/gpu_room.h.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "placement/fragmentation/gpu_room.h"
#include "placement/pod_query.h"

namespace berth::simulate {

// Node affinities that are distinguished, in the order of their first pods; later ones accept all nodes.
inline constexpr std::size_t kMeteredAffinitiesMax = 64;

class FragmentationMeter {
 public:
  // A pod of the workload, and what it asks for.
  void add(const placement::GpuDemand& asked, const std::shared_ptr<const api::Pod>& pod);
  // After the last add().
  void finish() { mix_ = placement::DemandMix(std::move(demands_)); }
  // Of all GPUs of the cluster.
  double percent(const model::Cluster& cluster);

 private:
  std::uint64_t affinities_of(const api::Node& node) const;

  std::vector<placement::WorkloadDemand> demands_;
  std::map<std::string, std::uint32_t> affinity_index_;  // from 1
  std::vector<std::shared_ptr<const api::Pod>> affinity_pods_;
  std::map<std::uint64_t, std::uint64_t> bits_;  // by the node's labels_stamp
  placement::DemandMix mix_;
};

}  // namespace berth::simulate
