// Structural OpenAPI v3 schemas of the API types, from the type table: what a CustomResourceDefinition holds.
//
// Pure, any thread. Cost: one walk of what the type reaches. Source: Kubernetes API concepts (structural
// schemas: no references, a type at every level, keys of map lists required).
#pragma once

#include "api/type_table.h"
#include "base/json.h"

namespace berth::install {

inline constexpr int kSchemaDepthMax = 32;  // types of the table that hold themselves are not for schemas

// metadata, kind and apiVersion of a top-level kind included. Members are required only where the type is
// Berth's own, and where they are keys of a list: what the API server has validated elsewhere is not judged
// again.
Json structural_schema(const api::TypeInfo& type);

}  // namespace berth::install
