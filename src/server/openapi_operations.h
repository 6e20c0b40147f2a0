// What OpenAPI v3 says of the requests of a resource: its paths, their parameters, bodies and answers.
//
// Pure, any thread. Source: the documents of kube-apiserver 1.37, and the builder of those of custom
// resources.
#pragma once

#include <string>

#include "api/type_table.h"
#include "base/json.h"

namespace berth::server {

// "/apis/ex.io/v1" of the resource's group version, without the slash in front.
std::string group_version_path(const api::ResourceInfo& resource);
// The path items of collection, all namespaces and object, by their paths.
Json path_items(const api::ResourceInfo& resource);

}  // namespace berth::server
