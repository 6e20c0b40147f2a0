// The priority levels and FlowSchemas that every cluster has.
//
// Pure. Source: pkg/apis/flowcontrol/bootstrap of k8s.io/apiserver 1.37.
#pragma once

#include <vector>

#include "base/json.h"

namespace berth::server {

// With kind and apiVersion, the levels first.
std::vector<Json> bootstrap_flow_objects();

}  // namespace berth::server
