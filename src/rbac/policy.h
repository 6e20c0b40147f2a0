// Who may do what, by all roles and bindings of one moment.
//
// Immutable, any thread. Cost of a check: two lookups for the user and each of its groups, then about 2 ns
// for each rule that they are bound to (policy_rule.h). Source: plugin/pkg/auth/authorizer/rbac and
// pkg/registry/rbac/validation of Kubernetes 1.37.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "rbac/policy_rule.h"
#include "rbac/roles.h"
#include "rbac/user.h"

namespace berth::rbac {

// `reason` in Kubernetes' words: which binding allows it, or which role is missing; often empty for a no.
struct Decision {
  bool allowed = false;
  std::string reason;
};

// What a user has in a namespace, or in the cluster.
struct UserRules {
  std::vector<const PolicyRule*> rules;
  std::string error;  // of bindings whose role is missing; empty: none is
};

class Policy {
 public:
  // Nobody may do anything.
  Policy() = default;
  // Of both kinds each. Cost: linear, and n log n for the order of bindings.
  Policy(std::vector<RolePtr> roles, std::vector<BindingPtr> bindings);

  // Without reading roles, as administrators have no limits: User::is_administrator() comes first.
  bool allows(const User& user, const Attributes& asked) const;
  Decision decide(const User& user, const Attributes& asked) const;

  // `ns` empty: the rules of ClusterRoleBindings alone. They are valid as long as the policy.
  UserRules rules_for(const User& user, std::string_view ns) const;
  // The rules of a role as a binding in `ns` (empty: a ClusterRoleBinding) refers to it; the error in
  // Kubernetes' words when there is none.
  Result<std::vector<const PolicyRule*>> rules_of(const RoleRef& role, std::string_view ns) const;

 private:
  using RuleListPtr = std::shared_ptr<const RuleList>;
  struct Bound {
    BindingPtr binding;
    RuleListPtr rules;  // null: the role is missing
    RuleSignature all;  // of the role, here so that most roles are not looked at
  };
  using Position = std::uint32_t;  // in bound_
  using Positions = std::vector<Position>;
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  template <class Value>
  using ByText = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;
  // The bindings of one namespace, or of the cluster, by those whom they bind.
  struct Scope {
    ByText<Positions> by_user, by_group;
  };

  void add_binding(BindingPtr binding);
  RuleListPtr find_role(const RoleRef& role, std::string_view ns) const;
  // In the order of bindings, those of the cluster first.
  Positions bindings_of(const User& user, std::string_view ns) const;
  const Bound* allowing(const Attributes& asked, const Positions& positions) const;

  std::map<std::pair<std::string, std::string>, RuleListPtr> roles_;  // by namespace and name
  std::vector<Bound> bound_;  // the cluster's, then by namespace; by name
  Scope cluster_;
  ByText<Scope> namespaces_;
};

// The rules of a ClusterRole with an aggregationRule: those of the roles that it selects, each once, by the
// name of the role. A selected role that aggregates as well contributes its own collected rules.
// `cluster_roles` in any order. Cost: labels of all roles for each role in between that aggregates.
std::vector<PolicyRule> aggregated_rules(const Role& role, const std::vector<RolePtr>& cluster_roles);

}  // namespace berth::rbac
