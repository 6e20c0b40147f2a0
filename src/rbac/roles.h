// Roles and bindings, read from their documents.
//
// Immutable, any thread. Source: rbac.authorization.k8s.io/v1.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/selectors.h"
#include "base/json.h"
#include "rbac/policy_rule.h"
#include "rbac/user.h"

namespace berth::rbac {

inline constexpr std::string_view kGroup = "rbac.authorization.k8s.io";

// Rules with their signatures.
struct RuleList {
  RuleList() = default;
  explicit RuleList(std::vector<PolicyRule> list);

  std::vector<PolicyRule> rules;
  std::vector<RuleSignature> signatures;  // by rule
  RuleSignature all;                      // of all together
};

// A Role, or a ClusterRole, whose namespace is empty.
struct Role {
  std::string ns, name;
  Json labels;
  RuleList own;
  // Of a ClusterRole with an aggregationRule: it has the rules of those that one of the selectors selects,
  // and its own are of no effect. A selector that does not parse selects none.
  std::optional<std::vector<api::LabelSelector>> collects;

  static Role read(const Json& object);
};
using RolePtr = std::shared_ptr<const Role>;

struct RoleRef {
  std::string kind;  // "Role" or "ClusterRole"
  std::string name;

  static RoleRef read(const Json& reference);
};

struct Subject {
  enum class Kind { User, Group, ServiceAccount, Unknown };
  Kind kind = Kind::Unknown;
  std::string name;
  std::string ns;  // of a service account; empty in a RoleBinding: the binding's own
};

// A RoleBinding, or a ClusterRoleBinding, whose namespace is empty.
struct Binding {
  std::string ns, name;
  RoleRef role;
  std::vector<Subject> subjects;

  static Binding read(const Json& object);
  // Null when it binds others.
  const Subject* subject_of(const User& user) const;
  // The name of the user that a subject is; empty for a group, and for an account without a namespace.
  std::string user_name_of(const Subject& subject) const;
};
using BindingPtr = std::shared_ptr<const Binding>;

}  // namespace berth::rbac
