// The facts that pods with volumes wait for, and those that changes of volumes, claims, classes, capacities
// and drivers bring. A fact names a storage class, with the size where one is asked for, or a CSI driver.
//
// A pod's own claims, and volumes that they name or that are kept for them, need no facts: their pods are
// tried after every change of them. Source: kube-scheduler's hints of VolumeBinding and NodeVolumeLimits.
#pragma once

#include "placement/pod_query.h"
#include "placement/queueing_hints.h"

namespace berth::placement::plugins {

// A volume for a claim that waits for its consumer.
void add_binding_hints(const SchedulingContext& context, const api::Pod& pod, PodHints& hints);
void add_binding_facts(const ClusterChange& change, ChangeFacts& facts);

// A node that attaches the pod's volumes.
void add_limit_hints(const SchedulingContext& context, const api::Pod& pod, PodHints& hints);
void add_limit_facts(const ClusterChange& change, ChangeFacts& facts);

}  // namespace berth::placement::plugins
