// The namespaces and priority classes that a new cluster has.
#pragma once

#include "base/result.h"
#include "server/registry.h"

namespace berth::server {

// Makes those that are missing. Waits for the store; not on a synchronous store's callback.
Status make_default_objects(Registry& registry);

}  // namespace berth::server
