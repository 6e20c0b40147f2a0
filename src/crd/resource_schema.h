// Whole objects as schemas, for expressions that are checked before there is an object.
//
// Pure, any thread. Cost: linear in the type's tree. A type inside of itself is an object without members,
// and a value of several types is of any. Source: the OpenAPI definitions of Kubernetes 1.37 with their
// references resolved (pkg/cel/openapi/resolver of k8s.io/apiserver).
#pragma once

#include "api/type_table.h"
#include "crd/schema.h"

namespace berth::crd {

Schema schema_of_type(const api::TypeInfo& type);
// `props` is the openAPIV3Schema of a version; kind, apiVersion and metadata are those of every object.
Schema schema_of_custom(const Json& props);

}  // namespace berth::crd
