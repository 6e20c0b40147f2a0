// Admission policies of one request: which see it, with which parameters, and what validating ones deny
// (admission_mutation.h: what mutating ones change).
//
// Owner: one write, one thread. Nothing waits. Cost: CEL's, at most admission::kPolicyCostMax for one
// request. Source: policy/validating/dispatcher.go and policy/generic of k8s.io/apiserver 1.37.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "admission/policy.h"
#include "server/admission_run.h"

namespace berth::server {

// What policies of both phases need of a write.
class PolicyRun : public AdmissionRun {
 protected:
  using AdmissionRun::AdmissionRun;

  struct Denial {
    const admission::Policy* policy = nullptr;
    const admission::PolicyBinding* binding = nullptr;  // null: the policy itself cannot be used
    std::string message, reason;
  };

  // The version in which the write is seen, and the objects of the binding's parameters: a null one where the
  // policy has none.
  using UseBinding = std::function<ApiResult<void>(const admission::PolicyBinding& binding, Seen seen,
                                                   const std::vector<Json>& params)>;
  // Calls `use` for each binding of the policy that sees the write. Its error, and a binding or policy that
  // cannot be used, is a denial unless the policy ignores it.
  void for_each_binding(const BoundPolicy& bound, const UseBinding& use);
  // What expressions see of the write.
  struct View {
    Json request, object, old;
    Json ns;  // the Namespace; null for an object of the cluster
    cel::Value authorizer;

    // They refer to both.
    admission::ExpressionInputs inputs(const Json& params) const {
      return {request, object, old, params, ns, authorizer};
    }
  };
  ApiResult<View> view_through(Seen seen) const;
  // Monotonic.
  Time now() const;
  void count(PolicyCheck check);
  // The name of the object in refusals.
  std::string shown_name() const;

  std::uint64_t cost_left_ = admission::kPolicyCostMax;
  std::vector<Denial> denials_;

 private:
  void fail(const admission::Policy& policy, const admission::PolicyBinding* binding, std::string why);
  ApiResult<std::vector<Json>> params_of(const admission::Policy& policy,
                                         const admission::PolicyBinding& binding) const;
  ApiResult<std::vector<Json>> found_params(const api::ResourceInfo& row, const std::string& ns,
                                            const admission::ParamReference& wanted) const;
};

class PolicyValidation final : public PolicyRun {
 public:
  PolicyValidation(AdmissionWebhooks& owner, AdmissionWrite write)
      : PolicyRun(owner, std::move(write), admission::Phase::Validating) {}

  // Refuses with the first denial; warnings and annotations go to the notes of the write.
  ApiResult<void> check(const std::vector<BoundPolicy>& policies);

 private:
  ApiResult<void> evaluate(const admission::Policy& policy, const admission::PolicyBinding& binding,
                           Seen seen, const std::vector<Json>& params);
  void take(const admission::Policy& policy, const admission::PolicyBinding& binding,
            admission::PolicyVerdict verdict);
  void count_all(const admission::Policy& policy, const admission::PolicyBinding& binding,
                 const admission::PolicyVerdict& verdict, Duration elapsed);
  void publish(const admission::Policy& policy);
  ApiStatus refusal(const Denial& denial) const;

  JsonArray audited_;                                            // failures of bindings that audit
  std::map<std::string, std::vector<std::string>> annotations_;  // of one policy: values by key
};

}  // namespace berth::server
