// Arguments of plugins, with kube-scheduler's names and defaults: what a profile of
// KubeSchedulerConfiguration sets. They are checked where they are read (cli/plugin_arguments.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/types/pod.h"

namespace berth::placement {

// addedAffinity: nodes have to match it besides what the pod asks.
struct NodeAffinityArguments {
  std::optional<api::NodeSelector> added_required = {};
  std::vector<api::NodePreference> added_preferences = {};
};

// Resources that one plugin scores by.
inline constexpr std::size_t kScoredResourcesMax = 16;

struct WeightedResource {
  std::string name;
  std::int64_t weight = 1;  // at least 1
};

enum class FitStrategy : std::uint8_t { LeastAllocated, MostAllocated, RequestedToCapacityRatio };

// A point of a scoring function's shape.
struct UtilizationPoint {
  std::int64_t utilization = 0;  // percent; ascending over the points
  std::int64_t score = 0;        // 0 to 10
};

struct ResourcesFitArguments {
  FitStrategy strategy = FitStrategy::LeastAllocated;
  std::vector<WeightedResource> resources = {{"cpu"}, {"memory"}};
  std::vector<UtilizationPoint> shape = {};  // of RequestedToCapacityRatio, at least one
  // Extended resources that the filter does not count: names, and the parts before the '/'.
  std::vector<std::string> ignored_resources = {};
  std::vector<std::string> ignored_groups = {};

  bool ignores(std::string_view resource) const;
};

struct BalancedAllocationArguments {
  std::vector<WeightedResource> resources = {{"cpu"}, {"memory"}};  // all with weight 1
};

// Constraints of pods that have none of their own.
struct TopologySpreadArguments {
  bool system_defaults = true;                        // defaultingType: System
  std::vector<api::SpreadConstraint> required = {};   // of the list: DoNotSchedule
  std::vector<api::SpreadConstraint> preferred = {};  // ScheduleAnyway
};

struct InterPodAffinityArguments {
  std::int64_t hard_pod_affinity_weight = 1;  // 0 to 100
  bool ignore_preferred_terms_of_existing_pods = false;
};

struct VolumeBindingArguments {
  std::vector<UtilizationPoint> shape = {{0, 10}, {100, 0}};  // at least one
};

struct PluginArguments {
  NodeAffinityArguments node_affinity = {};
  ResourcesFitArguments resources_fit = {};
  BalancedAllocationArguments balanced_allocation = {};
  TopologySpreadArguments topology_spread = {};
  InterPodAffinityArguments inter_pod_affinity = {};
  VolumeBindingArguments volume_binding = {};
};

}  // namespace berth::placement
