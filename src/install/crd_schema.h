// Structural OpenAPI v3 schemas of the API types, from the type table: the schema of a
// CustomResourceDefinition.
//
// Pure, any thread. Cost: one walk of all reachable types. Source: Kubernetes API concepts (structural
// schemas: no references, a type at every level, keys of map lists required).
#pragma once

#include "api/type_table.h"
#include "base/json.h"

namespace berth::install {

inline constexpr int kSchemaDepthMax = 32;  // recursive types of the table have no schema

// Includes metadata, kind and apiVersion of a top-level kind. Members are required only where the type is
// Berth's own, and where they are keys of a list: what the API server has validated elsewhere is not
// validated again.
Json structural_schema(const api::TypeInfo& type);

}  // namespace berth::install
