// Pods on other nodes whose eviction may make a node take a pod. They are pods that a rule about a domain
// counts, and pods that use a ReadWriteOncePod volume of the pod.
//
// Cost: for each rule that refuses the node a what-if for each pod on the nodes of its domain that count; at
// most kFarPodsMax pods. kube-scheduler evicts only on the node itself.
#pragma once

#include <vector>

#include "placement/pod_cycle.h"

namespace berth::placement {

inline constexpr std::size_t kFarPodsMax = 512;

// Whether pods on other nodes may be the reason for a refusal.
bool may_have_far_victims(const PodCycle& pods, CycleState& state, const SchedulingContext& context,
                          const api::Pod& pod, model::Ledger::Transaction& transaction);
// Evictable or not. Leaves the transaction as it was.
std::vector<PodId> far_victims(const PodCycle& pods, CycleState& state, const SchedulingContext& context,
                               const api::Pod& pod, NodeId node, model::Ledger::Transaction& transaction);

}  // namespace berth::placement
