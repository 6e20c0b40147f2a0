// Whether the schema of a version is structural, and says only what a definition may say.
//
// Pure, any thread. Cost: linear in the schema, plus compilation of patterns and rules. Source: structural
// schemas and the validation of definitions of apiextensions-apiserver 1.37.
#pragma once

#include <string>

#include "api/field_error.h"
#include "base/json.h"

namespace berth::crd {

// Errors of one schema that are named.
inline constexpr std::size_t kSchemaErrorsMax = 100;
// Patterns of one schema: each is compiled.
inline constexpr std::size_t kPatternsMax = 2'000;
// Of all patterns of a schema with their repetitions written out: what compiling them costs.
inline constexpr std::size_t kPatternSizeMax = 200'000;

// `props`: a canonical JSONSchemaProps. `path`: of the schema, "spec.validation.openAPIV3Schema".
// `has_status`: the version has that subresource.
api::FieldErrors check_schema(const Json& props, const std::string& path, bool has_status);

}  // namespace berth::crd
