// Whether the schema of a version is structural, and says only what a definition may say.
//
// Pure, any thread. Cost: linear in the schema, plus compilation of patterns and rules. Source: structural
// schemas and the validation of definitions of apiextensions-apiserver 1.37.
#pragma once

#include <string>

#include "api/field_error.h"
#include "base/json.h"
#include "crd/budget.h"
#include "crd/rules.h"

namespace berth::crd {

inline constexpr std::size_t kListKeysMax = 64;  // of a list of type map

// `props`: a canonical JSONSchemaProps. `path`: of the schema, "spec.validation.openAPIV3Schema".
// `has_status`: the version has that subresource. `budget`: of the definition.
api::FieldErrors check_schema(const Json& props, const std::string& path, bool has_status,
                              DefinitionBudget& budget, CostCheck cost_check = CostCheck::EachAndAll);

}  // namespace berth::crd
