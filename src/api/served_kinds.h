// What an API server serves of the type table, and in which version it stores an object.
//
// Every served version of a kind shares one key space and one stored shape. A `resource` is a row of the type
// table or of a custom resource. Pure, any thread. Source: the feature gates of Kubernetes 1.37.
#pragma once

#include <string>
#include <string_view>

#include "api/type_table.h"

namespace berth::api {

class Gates;

// Of a row of the type table.
bool is_served(const ResourceInfo& resource, const Gates& gates);

// Whether the type table has a resource of this name, in any version: definitions do not replace it.
bool is_built_in(std::string_view group, std::string_view plural);

// Whether kubectl takes the word, in lower case, for the resource: "pods", "pod", "po", "deployments.apps".
bool is_kind_word(const ResourceInfo& resource, std::string_view word);

// Whether the resource has Kubernetes' verb ("deletecollection").
bool has_verb(const ResourceInfo& resource, std::string_view verb);

// False for kinds that are stored although no controller of the embedded control plane handles them.
bool has_controller(const ResourceInfo& resource);

// The row of the version in which objects of the resource are stored.
const ResourceInfo& storage_of(const ResourceInfo& resource);
// "pods", "resourceclaims.resource.k8s.io".
std::string storage_resource(const ResourceInfo& resource);
// "v1", "apps/v1".
std::string api_version_of(const ResourceInfo& resource);
// "PodList".
std::string list_kind_of(const ResourceInfo& resource);

}  // namespace berth::api
