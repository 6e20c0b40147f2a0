#include "server/admission_policies.h"

#include <algorithm>

#include "server/admission_versions.h"
#include "server/object_versions.h"
#include "server/registry.h"
#include "server/served.h"

namespace berth::server {
namespace {

constexpr std::size_t kAuditedFailuresMax = 50;

int code_of(std::string_view reason) {
  if (reason == "Unauthorized") return 401;
  if (reason == "Forbidden") return 403;
  return reason == "RequestEntityTooLarge" ? 413 : 422;
}

const api::ResourceInfo* row_of_kind(const ServedSet& served, const admission::Policy& policy) {
  for (const api::ResourceInfo* row : served.rows())
    if (row->kind == policy.params_kind && api_version_of(*row) == policy.params_version) return row;
  return nullptr;
}

}  // namespace

void PolicyRun::for_each_binding(const BoundPolicy& bound, const UseBinding& use) {
  const admission::Policy& policy = *bound.policy;
  const ApiResult<Seen> seen = seen_through(policy.match);
  if (!seen) return fail(policy, nullptr, seen.error().message);
  if (!*seen) return;
  for (const admission::PolicyBinding& binding : bound.bindings) {
    const ApiResult<Seen> is_bound = seen_through(binding.match);
    if (!is_bound) {
      fail(policy, &binding, is_bound.error().message);
      continue;
    }
    if (!*is_bound) continue;
    const ApiResult<std::vector<Json>> params = params_of(policy, binding);
    const ApiResult<void> used = params ? use(binding, *seen, *params) : ApiResult<void>(params.error());
    if (!used) fail(policy, &binding, used.error().message);
  }
}

ApiResult<PolicyRun::View> PolicyRun::view_through(Seen seen) const {
  const bool is_in_namespace = write_.target.resource->namespaced && !attributes_.ns.empty();
  Json object = TRY(shown(seen, write_.object)), old = TRY(shown(seen, write_.old)),
       ns = is_in_namespace ? TRY(namespace_object()) : Json();
  return View{request_json(seen), std::move(object), std::move(old), std::move(ns), authorizer()};
}

Time PolicyRun::now() const {
  return owner_.registry_.dependencies().clock.monotonic();
}

void PolicyRun::count(PolicyCheck check) {
  owner_.metrics_.observe(check);
}

std::string PolicyRun::shown_name() const {
  return attributes_.name.empty() ? "Unknown" : attributes_.name;
}

ApiResult<std::vector<Json>> PolicyRun::params_of(const admission::Policy& policy,
                                                  const admission::PolicyBinding& binding) const {
  if (!policy.has_params() || !binding.params) return std::vector<Json>{Json()};
  const ServedPtr served = write_.target.served ? write_.target.served : owner_.served_.now();
  const std::string kind = policy.params_version + ", Kind=" + policy.params_kind;
  const api::ResourceInfo* row = row_of_kind(*served, policy);
  if (!row) return plain_error("paramKind kind `" + kind + "` not known");
  const admission::ParamReference& wanted = *binding.params;
  if (!row->namespaced && !wanted.ns.empty())
    return plain_error("paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
  const std::string ns = !row->namespaced ? "" : wanted.ns.empty() ? attributes_.ns : wanted.ns;
  if (row->namespaced && ns.empty())
    return plain_error(
        "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources");
  std::vector<Json> found = TRY(found_params(*row, ns, wanted));
  if (found.empty() && !wanted.may_be_absent)
    return plain_error("no params found for policy binding with `Deny` parameterNotFoundAction");
  return found;
}

ApiResult<std::vector<Json>> PolicyRun::found_params(const api::ResourceInfo& row, const std::string& ns,
                                                     const admission::ParamReference& wanted) const {
  ObjectTarget target{&row, ns, wanted.name, "", owner_.served_.now()};
  // Its objects could be converted on its own lane alone.
  if (has_webhook(target)) return plain_error("parameters whose kind has a conversion webhook are not read");
  const Registry& registry = owner_.registry_;
  std::vector<store::ObjectPtr> objects;
  if (!wanted.selector) {
    if (store::ObjectPtr object = registry.store().get(key_of(target))) objects.push_back(std::move(object));
  } else {
    store::ListQuery query;
    query.resource = storage_resource(row);
    query.ns = ns;
    query.limit = admission::kPolicyParamsMax + 1;
    query.accept = [&](const store::Object& object) {
      const Result<Json> document = registry.document_of(object);
      return document && wanted.selector->matches(document->part("metadata").find("labels"));
    };
    if (Result<store::ListPage> page = registry.store().list(query)) objects = std::move(page->objects);
  }
  if (objects.size() > admission::kPolicyParamsMax)
    return plain_error("paramRef.selector selects more than " + std::to_string(admission::kPolicyParamsMax) +
                       " objects");
  std::vector<Json> params;
  for (const store::ObjectPtr& object : objects) {
    const Result<Json> document = registry.document_of(*TRY(in_request_version(target, object)));
    if (!document) return internal_error("stored object does not parse");
    params.push_back(TRY(seen_document(target, row, *document)));
  }
  return params;
}

void PolicyRun::fail(const admission::Policy& policy, const admission::PolicyBinding* binding,
                     std::string why) {
  if (policy.ignores_failures) return;
  denials_.push_back({&policy, binding,
                      (binding ? "failed to configure binding: " : "failed to configure policy: ") + why,
                      ""});
}

ApiResult<void> PolicyValidation::check(const std::vector<BoundPolicy>& policies) {
  for (const BoundPolicy& bound : policies) {
    const admission::Policy& policy = *bound.policy;
    for_each_binding(
        bound, [&](const admission::PolicyBinding& binding, Seen seen, const std::vector<Json>& params) {
          return evaluate(policy, binding, seen, params);
        });
    publish(policy);
  }
  if (!audited_.empty())
    write_.notes->annotate("validation.policy.admission.k8s.io/validation_failure",
                           to_string(Json(audited_)));
  if (denials_.empty()) return {};
  write_.notes->refuse(denials_.front().policy->name);
  return refusal(denials_.front());
}

ApiResult<void> PolicyValidation::evaluate(const admission::Policy& policy,
                                           const admission::PolicyBinding& binding, Seen seen,
                                           const std::vector<Json>& params) {
  if (params.empty()) return {};
  const View view = TRY(view_through(seen));
  for (const Json& param : params) {
    const Time began = now();
    admission::PolicyVerdict verdict = admission::judge(policy, view.inputs(param), cost_left_);
    count_all(policy, binding, verdict, now() - began);
    take(policy, binding, std::move(verdict));
  }
  return {};
}

void PolicyValidation::count_all(const admission::Policy& policy, const admission::PolicyBinding& binding,
                                 const admission::PolicyVerdict& verdict, Duration elapsed) {
  const auto count_one = [&](std::string_view message, std::string_view action) {
    count({.phase = admission::Phase::Validating,
           .policy = policy.name,
           .binding = binding.name,
           .error_type = admission::policy_error_type(message),
           .action = action,
           .elapsed = elapsed});
  };
  for (const std::string& message : verdict.ignored) count_one(message, "allow");
  for (const admission::PolicyDenial& denial : verdict.denials) {
    if (binding.denies) count_one(denial.message, "deny");
    if (binding.audits) count_one(denial.message, "audit");
    if (binding.warns) count_one(denial.message, "warn");
  }
  for (const std::string& message : verdict.annotation_errors) count_one(message, "deny");
}

void PolicyValidation::take(const admission::Policy& policy, const admission::PolicyBinding& binding,
                            admission::PolicyVerdict verdict) {
  for (admission::PolicyDenial& denial : verdict.denials) {
    if (binding.warns)
      write_.notes->warn("Validation failed for ValidatingAdmissionPolicy '" + policy.name +
                         "' with binding '" + binding.name + "': " + denial.message);
    if (binding.audits && audited_.size() < kAuditedFailuresMax)
      audited_.push_back(Json::object({{"message", denial.message},
                                       {"policy", policy.name},
                                       {"binding", binding.name},
                                       {"expressionIndex", static_cast<std::int64_t>(denial.index)},
                                       {"validationActions", binding.actions}}));
    if (binding.denies)
      denials_.push_back({&policy, &binding, std::move(denial.message), std::move(denial.reason)});
  }
  for (std::string& error : verdict.annotation_errors)
    denials_.push_back({&policy, &binding, std::move(error), ""});
  for (auto& [key, value] : verdict.annotations) {
    std::vector<std::string>& values = annotations_[key];
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(std::move(value));
  }
}

// Several bindings may give one key different values.
void PolicyValidation::publish(const admission::Policy& policy) {
  for (const auto& [key, values] : std::exchange(annotations_, {})) {
    std::string all;
    for (const std::string& value : values) all += (all.empty() ? "" : ", ") + value;
    write_.notes->annotate(policy.name + "/" + key, std::move(all));
  }
}

ApiStatus PolicyValidation::refusal(const Denial& denial) const {
  std::string message = "ValidatingAdmissionPolicy '" + denial.policy->name + "'";
  if (denial.binding) message += " with binding '" + denial.binding->name + "'";
  message += " denied request: " + denial.message;
  ApiStatus status = forbidden(write_.target.resource_name(), shown_name(), message);
  status.reason = denial.reason.empty() ? "Invalid" : denial.reason;
  status.code = code_of(status.reason);
  status.causes.push_back({"", std::move(message), ""});
  return status;
}

}  // namespace berth::server
