// One rule of a role, and whether it allows a request.
//
// Immutable, any thread. Source: PolicyRule of rbac.authorization.k8s.io/v1, pkg/apis/rbac/v1 of Kubernetes
// 1.37.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace berth::rbac {

// What somebody wants to do: with a resource, or with the path of something that is no resource.
struct Attributes {
  std::string_view verb;
  std::string_view group;  // empty: core
  std::string resource;    // "pods", "pods/binding"
  std::string_view ns;     // empty: the cluster scope
  std::string_view name;
  std::string_view path = {};  // set: no resource
  // The node that a list, a watch or a deletecollection selects by spec.nodeName; empty: none.
  std::string_view selected_node = {};

  // "binding", or empty.
  std::string_view subresource() const;
};

struct PolicyRule {
  std::vector<std::string> verbs, groups, resources, names, paths;

  static PolicyRule read(const Json& rule);
  // In the API's member order; empty members are left off.
  Json to_json() const;

  bool allows(const Attributes& asked) const;
  // "{APIGroups:["apps"], Resources:["deployments"], Verbs:["get"]}", as refusals of an escalation show it.
  std::string text() const;

  friend bool operator==(const PolicyRule&, const PolicyRule&) = default;
};

// Whether one of the texts is `text`.
bool lists(const std::vector<std::string>& texts, std::string_view text);
// Whether the path in a rule, which may end in "*", covers `path`.
bool path_covers(std::string_view rule_path, std::string_view path);

// One bit for each verb, group and resource, by a hash: most rules are passed over without comparing a text.
// A set bit proves nothing, a clear one refuses.
class RuleSignature {
 public:
  // Of no rule.
  RuleSignature() = default;
  explicit RuleSignature(const PolicyRule& rule);
  explicit RuleSignature(const Attributes& asked);

  // Of several rules.
  void add(const RuleSignature& more) {
    verbs_ |= more.verbs_;
    groups_ |= more.groups_;
    resources_ |= more.resources_;
  }
  // False: no such rule allows what is asked.
  bool may_allow(const RuleSignature& asked) const {
    return (verbs_ & asked.verbs_) && (groups_ & asked.groups_) && (resources_ & asked.resources_);
  }

 private:
  std::uint64_t verbs_ = 0, groups_ = 0, resources_ = 0;
};

}  // namespace berth::rbac
