// OpenAPI v3 schemas of the API types, from the type table: used by `kubectl explain` and typed patches.
//
// Without descriptions: those are Kubernetes' own text. Pure, any thread. Cost: one walk of all types
// reachable from the kinds of a group version. Source: OpenAPI documents observed from kube-apiserver 1.37.
#pragma once

#include <string>
#include <string_view>

#include "api/type_table.h"
#include "base/json.h"
#include "server/served.h"

namespace berth::server {

// "io.k8s.api.core.v1.Pod".
std::string schema_name(const api::TypeInfo& type);
// Of a resource's kind; of a custom one, its group backwards: "io.ex.v1.Gizmo".
std::string schema_name(const api::ResourceInfo& resource);
// The schemas of every kind of the group version and of all reachable types, by name.
Json schemas_of(std::string_view group, std::string_view version, const ServedSet& served);

}  // namespace berth::server
