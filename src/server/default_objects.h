// The namespaces, priority classes, roles and bindings of a new cluster.
#pragma once

#include "base/result.h"
#include "server/registry.h"

namespace berth::server {

// Creates the missing ones. Waits for the store; not on a synchronous store's callback.
Status make_default_objects(Registry& registry);
// The same of rbac::bootstrap_objects(); stored ones get the rights that they lack. In one commit.
Status make_bootstrap_roles(Registry& registry);
// bootstrap_flow_objects() that are absent. In one commit.
Status make_flow_objects(Registry& registry);

}  // namespace berth::server
