// Arguments of plugins, with kube-scheduler's names and defaults: what a profile of
// KubeSchedulerConfiguration sets. The factories in plugins.h use the defaults.
#pragma once

#include <string>
#include <vector>

#include "placement/framework.h"

namespace berth::placement::plugins {

struct NodeAffinityArguments {
  std::vector<api::NodePreference> added_preferences;  // addedAffinity, the preferred terms
};
std::unique_ptr<NormalizedScore> node_preference(NodeAffinityArguments arguments);

// Resources that one plugin scores by.
inline constexpr std::size_t kScoredResourcesMax = 16;

struct WeightedResource {
  std::string name;
  std::int64_t weight = 1;  // at least 1
};

enum class FitStrategy : std::uint8_t { LeastAllocated, MostAllocated, RequestedToCapacityRatio };

// A point of RequestedToCapacityRatio's shape.
struct UtilizationPoint {
  std::int64_t utilization = 0;  // percent; ascending over the points
  std::int64_t score = 0;        // 0 to 10
};

// scoringStrategy.
struct ResourcesFitArguments {
  FitStrategy strategy = FitStrategy::LeastAllocated;
  std::vector<WeightedResource> resources = {{"cpu"}, {"memory"}};
  std::vector<UtilizationPoint> shape = {};  // of RequestedToCapacityRatio, at least one
};
std::unique_ptr<Score> resources_fit_score(const ResourcesFitArguments& arguments);

struct BalancedAllocationArguments {
  std::vector<WeightedResource> resources = {{"cpu"}, {"memory"}};  // all with weight 1
};
std::unique_ptr<Score> balanced_allocation(const BalancedAllocationArguments& arguments);

}  // namespace berth::placement::plugins
