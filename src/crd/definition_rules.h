// The API server's rules for CustomResourceDefinitions: defaults, status of a new one, validation.
//
// Pure, any thread. Cost: linear in the definition, plus compilation of patterns and rules. Source:
// validation and strategy of apiextensions-apiserver 1.37. A conversion webhook that is a Service is accepted
// with a Warning: the server reaches URLs only.
#pragma once

#include "api/kind_rules.h"

namespace berth::crd {

inline constexpr std::string_view kDefinitionGroup = "apiextensions.k8s.io";
inline constexpr std::string_view kDefinitionPlural = "customresourcedefinitions";
inline constexpr std::size_t kVersionsMax = 100;  // of one definition
inline constexpr std::size_t kSelectableFieldsMax = 8;

const api::KindRules& definition_rules();

// Whether the row is that of CustomResourceDefinitions.
bool is_definition(const api::ResourceInfo& resource);

}  // namespace berth::crd
