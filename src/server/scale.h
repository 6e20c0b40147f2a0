// The subresource scale: the replicas of a Deployment, ReplicaSet, StatefulSet or ReplicationController, and
// nothing else of it.
//
// Pure, any thread. Source: autoscaling/v1 Scale.
#pragma once

#include "server/http.h"
#include "server/registry.h"

namespace berth::server {

// The Scale of `object`, which is a workload.
Json scale_of(const Json& object);

// The change of a PUT or PATCH of the Scale to the object. Refuses a body that is no Scale, another name,
// negative replicas, and media types that are no patch (415).
ApiResult<Registry::Change> scale_change(const HttpRequest& request);

}  // namespace berth::server
