#include "server/admission_mutation.h"

#include <algorithm>
#include <tuple>

#include "admission/mutation.h"
#include "api/patch.h"
#include "apply/structured_merge.h"
#include "crd/served_version.h"
#include "server/admission_versions.h"

namespace berth::server {
namespace {

constexpr std::string_view kInvalid = "Invalid";

apply::Schema schema_of(const api::ResourceInfo& row, const api::TypeInfo* body_type) {
  if (body_type) return apply::Schema::of(*body_type);
  return row.custom ? apply::Schema::of(crd::served_version(row)->schema) : apply::Schema::of(row.type());
}

}  // namespace

bool PolicyMutation::Invocation::operator<(const Invocation& other) const {
  const auto key = [](const Invocation& one) {
    const Json& metadata = one.params.part("metadata");
    return std::tuple(one.binding, metadata.string_at("namespace"), metadata.string_at("name"));
  };
  return key(*this) < key(other);
}

ApiResult<Json> PolicyMutation::run(Json object) {
  write_.object = std::move(object);
  std::vector<Invocation> invocations;
  for (const BoundPolicy& bound : *policies_)
    for_each_binding(bound,
                     [&](const admission::PolicyBinding& binding, Seen seen,
                         const std::vector<Json>& params) -> ApiResult<void> {
                       for (const Json& param : params)
                         invocations.push_back({bound.policy.get(), &binding, seen, param});
                       return {};
                     });
  for (const Invocation& invocation : invocations) TRY(invoke(invocation));
  is_again_ = true;
  if (denials_.empty()) return write_.object;
  write_.notes->refuse(denials_.front().policy->name);
  return refusal();
}

ApiResult<void> PolicyMutation::invoke(const Invocation& invocation) {
  const admission::Policy& policy = *invocation.policy;
  if (!policy.conditions.empty()) {
    const View view = TRY(view_through(invocation.seen));
    const admission::MatchResult match =
        policy.conditions.evaluate(admission::values_of(view.inputs(invocation.params), policy.has_params()));
    if (match.match == admission::Match::Failed) deny(invocation, match.errors);
    if (match.match != admission::Match::Yes) return {};
  }
  if (is_again_ && !may_run_again_.contains(invocation)) return {};
  for (const admission::Mutation& mutation : policy.mutations) TRY(mutate(invocation, mutation));
  if (policy.may_run_again) may_run_again_.insert(invocation);
  return {};
}

ApiResult<void> PolicyMutation::mutate(const Invocation& invocation, const admission::Mutation& mutation) {
  const Time began = now();
  ApiResult<Result<Json>> next = changed(invocation, mutation);
  const bool is_made = next && *next;
  const std::string problem = is_made ? "" : next ? next->error().message() : next.error().message;
  count({.phase = admission::Phase::Mutating,
         .policy = invocation.policy->name,
         .binding = invocation.binding->name,
         .error_type = is_made ? admission::kNoPolicyError : admission::policy_error_type(problem),
         .elapsed = now() - began});
  if (!next) return next.error();
  if (is_made)
    write_.object = **std::move(next);
  else
    deny(invocation, problem);
  return {};
}

ApiResult<Result<Json>> PolicyMutation::changed(const Invocation& invocation,
                                                const admission::Mutation& mutation) {
  const View view = TRY(view_through(invocation.seen));
  Result<Json> patch =
      admission::patch_made_by(*invocation.policy, mutation, view.inputs(invocation.params), cost_left_);
  if (!patch) return patch;
  return patched(invocation.seen, mutation.kind, view.object, *std::move(patch));
}

ApiResult<Result<Json>> PolicyMutation::patched(Seen seen, admission::PatchKind kind, const Json& before,
                                                Json patch) const {
  const bool applies = kind == admission::PatchKind::ApplyConfiguration;
  Result<Json> made = Json();
  if (applies) {
    for (const std::string_view member : {"apiVersion", "kind"}) patch[member] = before.part(member);
    made = apply::merged_by_policy(schema_of(*seen, write_.body_type), before, patch);
    if (!made)
      return Result<Json>(Error(ErrorCode::Invalid, "error applying patch: " + made.error().message()));
  } else {
    made = api::apply_json_patch(before, to_string(patch));
    if (!made) {
      const Error& why = made.error().cause() ? *made.error().cause() : made.error();
      if (why.message() == api::kPatchTestFailed) return Result<Json>(write_.object);
      return Result<Json>(Error(ErrorCode::Invalid, "JSON Patch: " + why.message()));
    }
  }
  const UnknownMembers unknown = applies ? UnknownMembers::Dropped : UnknownMembers::Refused;
  return Result<Json>(TRY(written(seen, *std::move(made), before, unknown)));
}

void PolicyMutation::deny(const Invocation& invocation, std::string message) {
  if (invocation.policy->ignores_failures) return;
  denials_.push_back({invocation.policy, invocation.binding, std::move(message), std::string(kInvalid)});
}

ApiStatus PolicyMutation::refusal() const {
  ApiStatus status = forbidden(write_.target.resource_name(), shown_name(), "");
  for (const Denial& denial : denials_) {
    const std::string policy = denial.policy->name;
    std::string message = denial.binding
                              ? "policy '" + policy + "' with binding '" + denial.binding->name + "'"
                              : "policy " + to_string(Json(policy));
    message += " denied request: " + denial.message;
    status.causes.push_back({"", std::move(message), ""});
  }
  // The code stays that of Forbidden, as in the reference.
  status.message = status.causes.front().message;
  if (!denials_.front().reason.empty()) status.reason = denials_.front().reason;
  return status;
}

}  // namespace berth::server
