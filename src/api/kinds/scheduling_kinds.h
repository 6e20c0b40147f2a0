// The kinds of scheduling.k8s.io and scheduling.berth.dev. Source: types of scheduling.k8s.io v1, v1beta1 and
// v1alpha3.
#pragma once

#include "api/kind_rules.h"

namespace berth::api {

KindRules priority_class_rules();
KindRules workload_kind_rules();
KindRules pod_group_rules();
KindRules composite_pod_group_rules();
// The scheduler owns spec and replaces only a failed decision, as a whole; the binder owns status.
KindRules bind_request_rules();
KindRules device_health_policy_rules();
// An agent next to a kubelet writes it as a whole; nothing here refers to it.
KindRules node_device_health_rules();
KindRules topology_rules();
KindRules placement_policy_rules();

}  // namespace berth::api
