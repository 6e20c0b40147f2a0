// Mutating admission policies of one request: what they make of its object.
//
// Owner: a MutatingRun; one thread at a time, where objects of the target may be converted. Nothing waits.
// Cost: CEL's, at most admission::kPolicyCostMax for one request, and a decoding for each mutation. Source:
// policy/mutating/dispatcher.go and reinvocationcontext.go of k8s.io/apiserver 1.37.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "server/admission_policies.h"

namespace berth::server {

class PolicyMutation final : public PolicyRun {
 public:
  using Policies = std::shared_ptr<const std::vector<BoundPolicy>>;

  PolicyMutation(AdmissionWebhooks& owner, AdmissionWrite write, Policies policies)
      : PolicyRun(owner, std::move(write), admission::Phase::Mutating), policies_(std::move(policies)) {}

  // The object as the policies leave it, one after the other. A second call asks those alone that saw the
  // object in the first and may run again. Refuses with the first denial.
  ApiResult<Json> run(Json object);

 private:
  // A policy with one of its bindings and one of that binding's parameters.
  struct Invocation {
    const admission::Policy* policy = nullptr;
    const admission::PolicyBinding* binding = nullptr;
    Seen seen = nullptr;
    Json params;

    bool operator<(const Invocation& other) const;  // by binding and parameter
  };

  ApiResult<void> invoke(const Invocation& invocation);
  ApiResult<void> mutate(const Invocation& invocation, const admission::Mutation& mutation);
  // The document of the write after the mutation, or why it makes none.
  ApiResult<Result<Json>> changed(const Invocation& invocation, const admission::Mutation& mutation);
  // The document of the write after the patch, or why the patch does not apply.
  ApiResult<Result<Json>> patched(Seen seen, admission::PatchKind kind, const Json& before, Json patch) const;
  void deny(const Invocation& invocation, std::string message);
  ApiStatus refusal() const;

  const Policies policies_;
  bool is_again_ = false;
  std::set<Invocation> may_run_again_;
};

}  // namespace berth::server
