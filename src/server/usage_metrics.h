// metrics.k8s.io of simulated nodes: what pods and nodes use (api/simulated_usage.h), made when it is read.
//
// Nothing of it is stored. Owner: ApiServer. Thread-safe. Cost: metrics of a pod decode it; the first metrics
// of a node in a second decode every running pod. Source: metrics-server 0.8; k8s.io/metrics v1beta1.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "api/types/meta.h"
#include "server/list_reader.h"
#include "server/registry.h"

namespace berth::server {

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
    Time at;
    std::map<std::string, api::ResourceMap> by_node;
  };
  class Sample;
  std::shared_ptr<const NodeSums> sums_at(Time now) const;

  const Registry& registry_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const NodeSums> sums_;  // of the second in which they were last asked for
};

}  // namespace berth::server
