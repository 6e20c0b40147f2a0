// Authorization: what users may do, by the stored roles and bindings.
//
// Level-triggered: a write of a role or a binding is counted, and the next check reads what is stored then.
// Members of system:masters have no limits, and cost no check. Owner: ApiServer. Thread-safe. Cost: that of
// rbac::Policy, and for the first check after a write a list of all roles and bindings, of which the changed
// ones are read. Source: the authorizer RBAC and registry/rbac of Kubernetes 1.37.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rbac/policy.h"
#include "server/http.h"
#include "server/node_access.h"
#include "server/object_target.h"
#include "server/read_objects.h"
#include "server/status.h"

namespace berth::server {

class Registry;
struct WriteOptions;

using PolicyPtr = std::shared_ptr<const rbac::Policy>;

class Access {
 public:
  // `registry` outlives it.
  explicit Access(const Registry& registry) : registry_(registry), nodes_(registry) {}

  // 403 in the reference's words unless `user` may.
  ApiResult<void> authorize(const User& user, const rbac::Attributes& asked);
  // For paths that are not a resource. `method`: of HTTP.
  ApiResult<void> authorize_path(const User& user, std::string_view method, std::string_view path);
  // The same without the refusal, for reviews.
  rbac::Decision decide(const User& user, const rbac::Attributes& asked);
  // By what is stored now.
  PolicyPtr policy();

  // An object was written.
  void noted(const ObjectTarget& target);
  // Refuses (403) these writes; `before` is null for a create, `object` for a delete:
  //   - what a node may not write (node_access.h);
  //   - an update that creates its object, for one who may not `create` it;
  //   - a role or a binding with rights that its writer lacks, unless the writer may `escalate` or `bind`;
  //   - the decision on a request for a certificate, by one who may not `approve` for its signer;
  //   - the certificate of such a request, by one who may not `sign` for its signer;
  //   - such a request for the administrators' group.
  // Other writes pass.
  ApiResult<void> check_write(const ObjectTarget& target, const WriteOptions& options, const Json* object,
                              const Json* before);
  // The parts of a ResourceClaim's status that the writer may not change (claim_status_access.h).
  api::FieldErrors status_errors(const ObjectTarget& target, const WriteOptions& options, const Json& next,
                                 const Json& before);
  // The same as check_write() of the body of a subresource that is no part of its object.
  ApiResult<void> check_body(const ObjectTarget& target, const WriteOptions& options, const Json& body) const;

 private:
  void read_again();
  ApiResult<void> check_grant(const User& user, const ObjectTarget& target, const Json& object,
                              const Json* before);
  ApiResult<void> check_certificate(const User& user, const ObjectTarget& target, const Json& object,
                                    const Json* before);
  ApiResult<void> check_role(const User& user, const ObjectTarget& target, const Json& object,
                             const Json* before);
  ApiResult<void> check_binding(const User& user, const ObjectTarget& target, const Json& object);
  ApiResult<void> check_held(const User& user, const ObjectTarget& target,
                             const std::vector<const rbac::PolicyRule*>& granted);

  const Registry& registry_;
  const NodeAccess nodes_;
  // Writes of roles and bindings, and how many of them the policy has seen.
  std::atomic<std::uint64_t> written_{1}, read_to_{0};
  std::mutex mutex_;
  PolicyPtr policy_ = std::make_shared<const rbac::Policy>();
  ReadObjects<rbac::Role> roles_, cluster_roles_;
  ReadObjects<rbac::Binding> bindings_, cluster_bindings_;
};

// Refuses a `timeout` parameter that is no duration; requests here need no deadline. Of everything but
// watches.
ApiResult<void> check_timeout(const HttpRequest& request);

}  // namespace berth::server
