// Warnings that several kinds have in common. Source: pkg/api/node/util.go and pkg/api/*/warnings of
// Kubernetes 1.37.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/field_error.h"
#include "base/json.h"

namespace berth::api {

using Warnings = std::vector<std::string>;

// What is to be used in place of a node's label; empty for one that is not deprecated.
std::string_view deprecated_label(std::string_view key);
// Of the keys of a term of a node selector at `at`.
void warn_of_labels(Warnings& warnings, const FieldPath& at, const Json& term);
// Of an amount in bytes that is no integer; `at` is the map's.
void warn_of_fraction(Warnings& warnings, const FieldPath& at, const Json& amounts, std::string_view name);

// kinds/volume_warnings.cc
Warnings persistent_volume_warnings(const Json& volume);
Warnings volume_claim_warnings(const Json& claim);
Warnings storage_class_warnings(const Json& storage_class);

}  // namespace berth::api
