// How fast a HorizontalPodAutoscaler may follow what its metrics ask for.
//
// Pure functions over a small history; owner: the controller, one history a HorizontalPodAutoscaler. Source:
// configurable scaling behavior on Kubernetes' page about horizontal pod autoscaling; conditions and their
// texts of kube-controller-manager 1.37.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/types/meta.h"
#include "base/json.h"
#include "controllers/autoscaler_metrics.h"

namespace berth::controllers {

// The API takes no longer window, and no longer period of a policy.
inline constexpr Duration kStabilizationMax = Duration::seconds(3600),
                          kPolicyPeriodMax = Duration::minutes(30);
// Without another window in the spec, replicas go when they were not needed for so long.
inline constexpr Duration kDownStabilization = Duration::minutes(5);
// Of each list of a history; the oldest are forgotten first.
inline constexpr std::size_t kScalingHistoryMax = 1024;

struct ScalingMoment {
  Time at;
  std::int64_t replicas = 0;  // recommended, added or removed
};

// What was recommended and done before; lost with the process, as Kubernetes' is.
struct ScalingHistory {
  std::vector<ScalingMoment> recommended, added, removed;  // the oldest first

  // Forgets what no window reaches.
  void note_recommended(std::int64_t replicas, Time now);
  void note_scaled(std::int64_t from, std::int64_t to, Time now);
};

// spec.behavior, or Kubernetes' older rules without one: at most twice as many replicas, or 4, at once.
Tolerances tolerances_of(const Json& spec);

struct ScalingLimits {
  std::int64_t replicas = 0;
  api::Condition able_to_scale;    // whether an earlier recommendation counts
  api::Condition scaling_limited;  // by which rule
};
// What becomes of `wanted`, in place of `current`. Notes it in the history.
ScalingLimits limited_replicas(const Json& spec, std::int64_t current, std::int64_t wanted,
                               ScalingHistory& history, Time now);

}  // namespace berth::controllers
