// Finds the pods of lower priority whose eviction lets a pod grow on the node that it runs on: a deferred
// resize in place.
//
// Pure, as VictimSearch. The ledger charges such a pod with what it wants, so its node has less than nothing
// free. Cost: O(victims · log pods of the node) what-ifs of one node. Source: KEP-5836; kube-scheduler 1.37,
// where only NodeResourcesFit judges such a pod, and its preemptor searches on its node alone.
#pragma once

#include <optional>

#include "placement/preemption/victim_units.h"

namespace berth::placement {

// Whether the pod's node has what its resize asks for.
bool resize_fits(const model::Cluster& cluster, PodId pod);
// The cheapest victims on the pod's node, which refuses its resize; none: no victims are enough. Leaves the
// transaction as it was.
std::optional<VictimPlan> find_resize_victims(const SchedulingContext& context, const api::Pod& pod,
                                              model::Ledger::Transaction& transaction);

}  // namespace berth::placement
