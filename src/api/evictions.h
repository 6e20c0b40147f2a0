// How evictions are recognized, and which of them a PodDisruptionBudget refuses.
//
// Pure. Source: core/v1 PodCondition; the eviction subresource of kube-apiserver 1.37.
#pragma once

#include <string_view>

#include "api/types/disruption_budget.h"

namespace berth::api {

// The condition of a pod that is about to end for a reason of the cluster's, and who gives it.
inline constexpr std::string_view kDisruptionTarget = "DisruptionTarget";
inline constexpr std::string_view kPreemptionByScheduler = "PreemptionByScheduler";
inline constexpr std::string_view kEvictionByEvictionApi = "EvictionByEvictionAPI";
inline constexpr std::string_view kDeletionByPodGc = "DeletionByPodGC";

// Whether no budget is asked about the pod.
inline bool is_evicted_freely(std::string_view phase, bool deleting) {
  return phase == "Pending" || phase == "Succeeded" || phase == "Failed" || deleting;
}
// Whether the budget's pods that are not Ready go freely: they are not among the healthy ones that it
// protects.
inline bool lets_unready_pods_go(const DisruptionBudget& budget) {
  return budget.lets_unready_go ||
         (budget.desired_healthy > 0 && budget.current_healthy >= budget.desired_healthy);
}
// Whether its controller has read its latest spec; before that it permits nothing.
inline bool is_processed(const DisruptionBudget& budget) {
  return budget.observed_generation >= budget.meta.generation;
}

}  // namespace berth::api
