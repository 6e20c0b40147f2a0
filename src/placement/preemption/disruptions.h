// Which evictions the Eviction API would refuse, counted over several victims of one plan.
//
// Reads the PodDisruptionBudgets of the view. Cost: a match with each budget of the pod's namespace. Source:
// policy/v1 and the eviction subresource of kube-apiserver 1.37. Unlike kube-scheduler's count, a pod that
// the API lets go freely (not ready, above its budget) costs its budget nothing, and an empty selector
// selects.
#pragma once

#include <map>

#include "client/view.h"

namespace berth::placement {

class Disruptions {
 public:
  // Outlived by the view, which does not change in its lifetime.
  explicit Disruptions(const client::View& view) : view_(&view) {}

  // Counts the eviction of the pod. False: after those counted before, the API would refuse it.
  bool count(const api::Pod& pod);

 private:
  const client::View* view_;
  std::map<const api::DisruptionBudget*, std::int64_t> left_;  // only looked up
};

// Whether the API would refuse the eviction if no other pod were evicted.
bool is_protected(const client::View& view, const api::Pod& pod);
// Changes with every change of a budget that may change what is_protected() says of a pod that did not.
std::uint64_t protection_digest(const client::View& view);

}  // namespace berth::placement
