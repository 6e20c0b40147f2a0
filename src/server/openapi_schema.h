// OpenAPI v3 schemas of the API types, from the type table: used by `kubectl explain` and typed patches.
//
// Without descriptions but for those of metadata: the others are Kubernetes' own text. Pure, any thread.
// Cost: one walk of all types reachable from the kinds of a group version. Source: OpenAPI documents observed
// from kube-apiserver 1.37.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/type_table.h"
#include "base/json.h"

namespace berth::api {
class Gates;
}

namespace berth::server {

// How the names of the types of meta/v1 begin.
inline constexpr std::string_view kMetaSchemas = "io.k8s.apimachinery.pkg.apis.meta.v1.";

// "io.k8s.api.core.v1.Pod".
std::string schema_name(const api::TypeInfo& type);
// Of a resource's kind; of a custom one, its group backwards: "io.ex.v1.Gizmo".
std::string schema_name(const api::ResourceInfo& resource);
// Of a list of them.
std::string list_schema_name(const api::ResourceInfo& resource);
// The schemas of the kinds of these resources, of their lists and of all types that they and their requests
// refer to, by name.
Json schemas_of(std::span<const api::ResourceInfo* const> resources, const api::Gates& gates);
// The title and the version of every document.
Json api_info();

}  // namespace berth::server
