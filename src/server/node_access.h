// What the users of nodes may do: system:node:NAME of the group system:nodes. A node reads and writes its own
// objects, and reads what the pods on it refer to.
//
// decide() adds rights to those of roles, as the authorizer Node does; the checks take some away again, no
// matter who gave them, as the admission plugin NodeRestriction does. Thread-safe. Cost of a question about
// what pods refer to: a look at the text of the pods in its namespace, up to the first on the node that does.
// Not followed: Secrets that PersistentVolumes name. Source: plugin/pkg/auth/authorizer/node and
// plugin/pkg/admission/noderestriction of Kubernetes 1.37.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "rbac/policy.h"
#include "server/object_target.h"

namespace berth::server {

class Registry;

// The node whose user it is; nothing for other users.
std::optional<std::string> node_of(const rbac::User& user);

class NodeAccess {
 public:
  // `registry` outlives it.
  explicit NodeAccess(const Registry& registry) : registry_(registry) {}

  // What the node may do; where it may not, the reason in Kubernetes' words.
  rbac::Decision decide(const std::string& node, const rbac::Attributes& asked) const;
  // Refuses (403) a write of the node: `before` is null for a create, `next` for a delete.
  ApiResult<void> check_write(const std::string& node, const ObjectTarget& target, const Json* next,
                              const Json* before) const;
  // The same of the body of a subresource that is no part of its object: a TokenRequest, an Eviction, a
  // Binding.
  ApiResult<void> check_body(const std::string& node, const ObjectTarget& target, const Json& body) const;

 private:
  using Test = std::function<bool(const Json& pod)>;
  std::optional<rbac::Decision> decide_about(const std::string& node, const rbac::Attributes& asked) const;
  rbac::Decision decide_slice(const std::string& node, const rbac::Attributes& asked) const;
  rbac::Decision decide_pod(const std::string& node, const rbac::Attributes& asked) const;
  rbac::Decision related(const std::string& node, const rbac::Attributes& asked) const;
  bool is_related(const std::string& node, std::string_view resource, std::string_view ns,
                  std::string_view name) const;
  // Whether a pod of the namespace that runs on the node passes.
  bool some_pod(const std::string& node, std::string_view ns, const Test& test) const;
  std::optional<Json> stored(std::string_view resource, std::string_view ns, std::string_view name) const;
  // Why a node may not write a pod so; empty: it may.
  std::string pod_problem(const std::string& node, const ObjectTarget& target, const Json* next,
                          const Json* before) const;
  std::string mirror_problem(const std::string& node, const Json& pod) const;

  const Registry& registry_;
};

}  // namespace berth::server
