// The condition Dangling of FlowSchemas: whether the priority level that they name is absent.
//
// Level-triggered: FlowControl calls it after writes of schemas and levels. Cost: a list of both. Source:
// syncFlowSchemaStatuses of pkg/util/flowcontrol/apf_controller.go in k8s.io/apiserver 1.37.
#pragma once

#include <functional>

#include "server/registry.h"

namespace berth::server {

// Writes the condition of each schema that lacks it or says something else. Calls `failed` for each write
// that was refused, on any thread.
void report_dangling_schemas(Registry& registry, const std::function<void()>& failed);

}  // namespace berth::server
