// The subresource scale: how many replicas a Deployment, ReplicaSet, StatefulSet or ReplicationController
// has, and nothing else of it.
//
// Pure, any thread. Source: autoscaling/v1 Scale.
#pragma once

#include "server/http.h"
#include "server/registry.h"

namespace berth::server {

// The Scale of `object`, which makes pods.
Json scale_of(const Json& object);

// What a PUT or PATCH of the Scale changes in the object. Refuses what is no Scale, another name, replicas
// below zero, and media types that are no patch (415).
ApiResult<Registry::Change> scale_change(const HttpRequest& request);

}  // namespace berth::server
