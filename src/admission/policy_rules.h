// The API server's rules for ValidatingAdmissionPolicy and
// ValidatingAdmissionPolicyBinding: defaults and validation.
//
// Pure, any thread. Cost: linear in the object, plus compilation of its
// expressions. Source: validation of admissionregistration.k8s.io in
// Kubernetes 1.37.
#pragma once

#include "api/kind_rules.h"
#include "api/type_table.h"

namespace berth::admission {

inline constexpr std::string_view kPolicies = "validatingadmissionpolicies";
inline constexpr std::string_view kPolicyBindings = "validatingadmissionpolicybindings";

enum class PolicyKind : std::uint8_t { None, Policy, Binding };
PolicyKind policy_kind_of(const api::ResourceInfo& resource);

// Of a kind that is one.
const api::KindRules& policy_rules(PolicyKind kind);

}  // namespace berth::admission
