// metrics.k8s.io of simulated nodes: what pods and nodes use (api/simulated_usage.h), made when it is read.
//
// Nothing of it is stored. Owner: ApiServer. Thread-safe. Cost: metrics of a pod decode it; metrics of nodes
// decode every running pod once in kNodeSumsAge, on one thread. Other threads wait for it only without sums
// that are young enough. Source: metrics-server 0.8; k8s.io/metrics v1beta1.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "api/simulated_usage.h"
#include "api/types/meta.h"
#include "base/time.h"
#include "server/list_reader.h"
#include "server/registry.h"

namespace berth::server {

// So long what the pods of all nodes use is not summed again; and so old it may be while another thread sums.
inline constexpr Duration kNodeSumsAge = Duration::seconds(5);
inline constexpr Duration kNodeSumsAgeMax = api::kUsageWindowMax;

// Whether the objects of the resource are metrics: NodeMetrics or PodMetrics.
bool is_measured_usage(const api::ResourceInfo& resource);

class UsageMetrics {
 public:
  // `registry` outlives it.
  explicit UsageMetrics(const Registry& registry) : registry_(registry) {}

  // Makes metrics of stored pods, or of stored nodes, at the time of this call; null of a pod that does not
  // run, and where nobody measures. One thread at a time.
  ObjectMaker maker(const api::ResourceInfo& resource) const;
  // 404 where there are none.
  ApiResult<Answer> get(const ObjectTarget& target) const;

 private:
  // What the pods of each node use together.
  struct NodeSums {
    Time at;  // monotonic
    std::map<std::string, api::ResourceMap> by_node;
  };
  class Sample;
  std::shared_ptr<const NodeSums> sums() const;
  // The last ones, if they are younger than `age`; else null.
  std::shared_ptr<const NodeSums> sums_within(Duration age) const;
  std::shared_ptr<const NodeSums> sum() const;

  const Registry& registry_;
  mutable std::mutex summing_;  // held by the one thread that sums
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const NodeSums> sums_;  // the last ones
};

}  // namespace berth::server
