// The rules of a webhook or a policy: which operations on which resources it sees.
//
// Pure, any thread. Cost of a match: linear in the rule. Source: RuleWithOperations of
// admissionregistration.k8s.io/v1; predicates/rules of k8s.io/apiserver 1.37.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "admission/attributes.h"
#include "base/json.h"

namespace berth::admission {

inline constexpr std::string_view kRegistrationGroup = "admissionregistration.k8s.io";

enum class Scope : std::uint8_t { Any, Namespaced, Cluster };

struct Rule {
  std::vector<std::string> operations, groups, versions, resources;  // "*": every one; "pods/status"
  std::vector<std::string> names;  // resourceNames of a policy; empty: every object
  Scope scope = Scope::Any;
};

Rule read_rule(const Json& rule);

// Whether the rule names `resource`, which is that of the request or an equivalent one.
bool matches(const Rule& rule, const Attributes& attributes, const GroupVersionResource& resource);

}  // namespace berth::admission
