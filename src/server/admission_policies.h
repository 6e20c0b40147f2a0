// ValidatingAdmissionPolicies of one request: which see it, with which parameters, and what they deny.
//
// Owner: one write, one thread. Nothing waits. Cost: CEL's, at most admission::kPolicyCostMax for one
// request. Source: policy/validating/dispatcher.go and policy/generic of k8s.io/apiserver 1.37.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "admission/policy.h"
#include "server/admission_run.h"

namespace berth::server {

class PolicyRun final : public AdmissionRun {
 public:
  PolicyRun(AdmissionWebhooks& owner, AdmissionWrite write)
      : AdmissionRun(owner, std::move(write), admission::Phase::Validating) {}

  // Refuses with the first denial; warnings and annotations go to the notes of the write.
  ApiResult<void> check(const std::vector<BoundPolicy>& policies);

 private:
  struct Denial {
    const admission::Policy* policy = nullptr;
    const admission::PolicyBinding* binding = nullptr;  // null: the policy itself cannot be used
    std::string message, reason;
  };

  void judge_policy(const BoundPolicy& bound);
  // The objects of one binding's parameters; a null one where the policy has none.
  ApiResult<std::vector<Json>> params_of(const admission::Policy& policy,
                                         const admission::PolicyBinding& binding) const;
  ApiResult<std::vector<Json>> found_params(const api::ResourceInfo& row, const std::string& ns,
                                            const admission::ParamReference& wanted) const;
  ApiResult<void> evaluate(const BoundPolicy& bound, const admission::PolicyBinding& binding, Seen seen);
  void take(const BoundPolicy& bound, const admission::PolicyBinding& binding,
            admission::PolicyVerdict verdict);
  void fail(const admission::Policy& policy, const admission::PolicyBinding* binding, std::string why);
  void publish(const admission::Policy& policy);
  ApiStatus refusal(const Denial& denial) const;

  std::uint64_t cost_left_ = admission::kPolicyCostMax;
  std::vector<Denial> denials_;
  JsonArray audited_;                                            // failures of bindings that audit
  std::map<std::string, std::vector<std::string>> annotations_;  // of one policy: values by key
};

}  // namespace berth::server
