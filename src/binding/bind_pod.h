// The write that binds a pod to a node.
#pragma once

#include <string>

#include "client/decider.h"

namespace berth::binding {

// Names the pod's UID and version as seen: once the pod has another version, a late copy meets Conflict.
// `domain`: what the pod is annotated with (group_domain.h); empty: nothing.
client::Write bind_pod(const api::ObjectMeta& seen, const std::string& node, const std::string& domain = "");

}  // namespace berth::binding
