// The subresource scale: the replicas of a Deployment, ReplicaSet, StatefulSet or ReplicationController, and
// nothing else of it.
//
// Pure, any thread. Source: autoscaling/v1 Scale.
#pragma once

#include "server/http.h"
#include "server/registry.h"

namespace berth::crd {
struct ServedVersion;
}

namespace berth::server {

// The Scale of `object`, which is a workload, or a custom object whose version (`custom`) has that
// subresource.
Json scale_of(const Json& object, const crd::ServedVersion* custom);

// The member at the end of the way, made where it is absent.
Json& place_at(Json& object, const std::vector<std::string>& members);

// The change of a PUT or PATCH of the Scale to the object. Refuses a body that is no Scale, another name,
// negative replicas, and media types that are no patch (415).
ApiResult<Registry::Change> scale_change(const HttpRequest& request, const crd::ServedVersion* custom);

}  // namespace berth::server
