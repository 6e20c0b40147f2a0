// The API server's rules for the admission policies of both phases and for their bindings: defaults and
// validation.
//
// Pure, any thread. Cost: linear in the object, plus compilation of its
// expressions. Source: validation of admissionregistration.k8s.io in
// Kubernetes 1.37.
#pragma once

#include <optional>
#include <string_view>

#include "admission/webhook.h"
#include "api/kind_rules.h"
#include "api/type_table.h"

namespace berth::admission {

struct PolicyKind {
  Phase phase = Phase::Validating;
  bool is_binding = false;
};

std::string_view plural_of(PolicyKind kind);
// Nothing for every other resource.
std::optional<PolicyKind> policy_kind_of(const api::ResourceInfo& resource);

const api::KindRules& policy_rules(PolicyKind kind);

}  // namespace berth::admission
