// The namespaces and priority classes of a new cluster.
#pragma once

#include "base/result.h"
#include "server/registry.h"

namespace berth::server {

// Creates the missing ones. Waits for the store; not on a synchronous store's callback.
Status make_default_objects(Registry& registry);

}  // namespace berth::server
