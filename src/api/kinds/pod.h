// Rules of core/v1 Pod (kinds/pod*.cc).
#pragma once

#include "api/kind_rules.h"

namespace berth::api {

KindRules pod_rules();

// status.qosClass: Guaranteed, Burstable or BestEffort.
std::string_view qos_class_of(const Json& pod);

// Defaults of a pod spec, also inside templates of other kinds.
void set_pod_spec_defaults(Json& spec);

}  // namespace berth::api
