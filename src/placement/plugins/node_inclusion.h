// Which nodes a pod may use at all: what filters ask, and what spreading counts.
#pragma once

#include "api/types/cluster.h"
#include "api/types/pod.h"

namespace berth::placement::plugins {

// By spec.nodeSelector and the required node affinity.
bool matches_node_affinity(const api::Pod& pod, const api::Node& node);
// Whether the pod tolerates every taint with the effect NoSchedule or NoExecute.
bool tolerates_taints(const api::Pod& pod, const api::Node& node);
// Taints with the effect PreferNoSchedule that the pod does not tolerate.
std::int64_t untolerated_soft_taints(const api::Pod& pod, const api::Node& node);

}  // namespace berth::placement::plugins
