// What the expressions of a validating policy get wrong for the kinds that its rules name.
//
// Pure, any thread. Cost: a compilation of the policy for each kind, of which kTypesCheckedMax are looked at,
// and a search for each of kResourcesTriedMax resources.
// Source: policy/validating/typechecking.go of k8s.io/apiserver 1.37.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "admission/attributes.h"
#include "crd/schema.h"

namespace berth::admission {

inline constexpr std::size_t kTypesCheckedMax = 10;
// Groups times versions times resources of the rules: few of them need be served.
inline constexpr std::size_t kResourcesTriedMax = 1000;

struct KindSchema {
  std::string kind;
  crd::Schema schema;
};

// What is served now; nothing for what is not.
struct KindSchemas {
  std::function<std::optional<KindSchema>(const GroupVersionResource& resource)> of_resource;
  std::function<std::optional<crd::Schema>(std::string_view api_version, std::string_view kind)> of_kind;
};

// status.typeChecking.expressionWarnings. Rules with a wildcard name no kinds. A `policy` is stored.
JsonArray expression_warnings(const Json& policy, const KindSchemas& schemas);

}  // namespace berth::admission
