// What pods that ask for devices wait for, and what changes of slices, classes and claims bring: by the
// driver of the devices and the name of the class.
//
// A class or a request whose selectors name no driver waits for devices of every driver. Source:
// kube-scheduler's hints of DynamicResources.
#pragma once

#include "placement/pod_query.h"
#include "placement/queueing_hints.h"

namespace berth::placement::plugins {

// Devices of the pod's claims and of the resources that devices may serve.
void add_device_hints(const SchedulingContext& context, const api::Pod& pod, PodHints& hints);
// Classes that may make devices serve resources of the pod.
void add_class_hints(const api::Pod& pod, PodHints& hints);
// A node whose devices may be others now, or may be used otherwise.
void add_node_hints(PodHints& hints);

void add_device_facts(const ClusterChange& change, ChangeFacts& facts);

}  // namespace berth::placement::plugins
