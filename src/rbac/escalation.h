// Whether somebody who writes a role or a binding has every right that it grants.
//
// Pure, any thread. Source: component-helpers/auth/rbac/validation and pkg/registry/rbac/validation of
// Kubernetes 1.37.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "rbac/policy_rule.h"
#include "rbac/user.h"

namespace berth::rbac {

// Single rights (one verb on one resource of one group, of one name) that are compared for one role.
inline constexpr std::size_t kGrantedRightsMax = 20'000;

// The rules of `granted` that `held` does not cover, reduced to what is missing: one group, resource and name
// each with the missing verbs, in the order of their texts. TooLarge above kGrantedRightsMax, unless one rule
// holds everything. Cost: rights times rules held.
Result<std::vector<PolicyRule>> missing_rights(std::span<const PolicyRule* const> held,
                                               std::span<const PolicyRule* const> granted);

// Kubernetes' sentence for the missing rights. `resolution_error`: of UserRules.
std::string escalation_text(const User& user, std::span<const PolicyRule> missing,
                            const std::string& resolution_error);

}  // namespace berth::rbac
