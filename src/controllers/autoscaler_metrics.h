// How many replicas the metrics of a HorizontalPodAutoscaler ask for.
//
// Pure functions. Cost: linear in the pods for each metric. Usage is that of simulated nodes
// (api/simulated_usage.h): nothing here measures anything else, so metrics of types Pods, Object and External
// have no value. Source: the algorithm details of Kubernetes' page about horizontal pod autoscaling; texts
// and reasons of kube-controller-manager 1.37.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/selectors.h"
#include "api/simulated_usage.h"
#include "controllers/controllers.h"

namespace berth::controllers {

// A pod is not yet ready for so long after it started; an unready one that was ready later counts.
inline constexpr Duration kInitialReadinessDelay = Duration::seconds(30);
// The cpu that a pod uses while it initializes does not count.
inline constexpr Duration kCpuInitializationPeriod = Duration::minutes(5);

// A pod that the target selects.
struct ScaledPod {
  std::shared_ptr<const api::Pod> pod;
  std::optional<api::PodUsage> usage;  // nothing: there are no metrics
};
// By name. Cost: O(pods of the namespace).
std::vector<ScaledPod> scaled_pods(const View& view, const std::string& ns,
                                   const api::LabelSelector& selector, Time now);

// How far a metric may be from its target without any effect, as parts of the target.
struct Tolerances {
  Quantity up = Quantity::millis(100), down = Quantity::millis(100);
};

struct MetricQuestion {
  const std::vector<ScaledPod>& pods;
  std::int64_t replicas = 0;  // what the target asks for
  Tolerances tolerances;
  std::string_view ns;
  Time now;
};

struct MetricFailure {
  std::string reason;     // of an event, and of the condition ScalingActive: "FailedGetResourceMetric"
  std::string message;    // "failed to get cpu utilization: …"
  std::string of_metric;  // the same in the words of the sum of all metrics
};

// What all metrics together ask for.
struct MetricsProposal {
  std::optional<std::int64_t> replicas;  // nothing: a metric failed, and the others do not ask for more
  std::string metric;                    // which one asks for so many: "cpu resource utilization (…)"
  JsonArray current;                     // status.currentMetrics
  std::vector<MetricFailure> failures;
  std::size_t metric_count = 0;

  // "invalid metrics (1 invalid out of 2), first error is: …"
  std::string error() const;
};
// `metrics` is spec.metrics: the largest number counts.
MetricsProposal proposal_of(const JsonArray& metrics, const MetricQuestion& question);

}  // namespace berth::controllers
