#include <algorithm>

#include "api/kinds/scheduling_kinds.h"
#include "api/kinds/scheduling_parts.h"
#include "api/types/bind_request.h"
#include "api/types/group_domain.h"

namespace berth::api {
namespace {

constexpr std::size_t kConditionsMax = 8;
constexpr std::size_t kClaimsMax = 64;
constexpr std::size_t kVolumesMax = 256;
constexpr std::size_t kMembersMax = 16384;
constexpr std::size_t kReasonBytesMax = 128;
constexpr std::size_t kMessageBytesMax = 4096;
constexpr std::size_t kUidBytesMax = 128;
constexpr std::size_t kPortionBytesMax = 4;  // "0.50"

const TypeInfo& request_type(std::string_view name) {
  return table_type(kBerthGroup, "v1alpha1", name);
}

NameProblems short_text(std::string_view text) {
  if (text.size() <= kUidBytesMax) return {};
  return {"must be no more than " + std::to_string(kUidBytesMax) + " bytes"};
}

FieldErrors check_counter(const FieldPath& path, const Json& owner, std::string_view name) {
  const std::int64_t count = owner.int_at(name);
  if (count >= 0) return {};
  return {invalid(path.child(name), count, "must be greater than or equal to 0")};
}

FieldErrors check_claims(const FieldPath& path, const JsonArray& claims) {
  FieldErrors errors = check_count(path, claims.size(), kClaimsMax);
  for (std::size_t i = 0; i < std::min(claims.size(), kClaimsMax); ++i) {
    const std::string_view name = text_at(claims[i], "name");
    append(errors, check_required(path.index(i).child("name"), name, dns_label_problems));
    if (item_named(claims, "name", name) != &claims[i])
      errors.push_back(duplicate(path.index(i).child("name"), name));
  }
  return errors;
}

FieldErrors check_volumes(const FieldPath& path, const JsonArray& volumes) {
  FieldErrors errors = check_count(path, volumes.size(), kVolumesMax);
  for (std::size_t i = 0; i < std::min(volumes.size(), kVolumesMax); ++i) {
    const std::string_view name = text_at(volumes[i], "claimName");
    append(errors, check_required(path.index(i).child("claimName"), name, dns_subdomain_problems));
    if (item_named(volumes, "claimName", name) != &volumes[i])
      errors.push_back(duplicate(path.index(i).child("claimName"), name));
  }
  return errors;
}

FieldErrors check_gpu_share(const FieldPath& path, const Json& spec) {
  FieldErrors errors;
  if (const Json* gpu = present(spec, "receivedGPU")) {
    append(errors, check_counter(path.child("receivedGPU"), *gpu, "count"));
    if (text_at(*gpu, "portion").size() > kPortionBytesMax)
      errors.push_back(too_long(path.child("receivedGPU").child("portion"), kPortionBytesMax));
  }
  const FieldPath list = path.child("selectedGPUGroups");
  const JsonArray& groups = items(&spec, "selectedGPUGroups");
  append(errors, check_count(list, groups.size(), kGpuFractionDevicesMax));
  for (std::size_t i = 0; i < std::min<std::size_t>(groups.size(), kGpuFractionDevicesMax); ++i)
    append(errors, check_required(list.index(i), groups[i].is_string() ? groups[i].as_string() : "",
                                  dns_label_problems));
  return errors;
}

FieldErrors check_lease(const FieldPath& path, const Json& lease) {
  FieldErrors errors =
      check_required(path.child("namespace"), text_at(lease, "namespace"), dns_label_problems);
  append(errors, check_required(path.child("name"), text_at(lease, "name"), dns_subdomain_problems));
  append(errors, check_required(path.child("uid"), text_at(lease, "uid"), short_text));
  return errors;
}

// Of the scheduler that decided, or has taken the decision over.
FieldErrors check_term(const FieldPath& path, const Json& spec) {
  FieldErrors errors = check_counter(path, spec, "epoch");
  if (const Json* lease = present(spec, "lease")) append(errors, check_lease(path.child("lease"), *lease));
  return errors;
}

FieldErrors check_length(const FieldPath& path, const Json& object, std::string_view name, std::size_t most) {
  if (text_at(object, name).size() <= most) return {};
  return {too_long(path.child(name), most)};
}

FieldErrors check_group(const FieldPath& path, const Json& group) {
  FieldErrors errors = check_required(path.child("name"), text_at(group, "name"), dns_subdomain_problems);
  append(errors, check_length(path, group, "uid", kUidBytesMax));
  append(errors, check_counter(path, group, "size"));
  append(errors, check_length(path, group, "domain", kGroupDomainBytesMax));
  const Json* root = present(group, "root");
  if (!root) return errors;
  const FieldPath at = path.child("root");
  append(errors, check_required(at.child("name"), text_at(*root, "name"), dns_subdomain_problems));
  append(errors, check_length(at, *root, "uid", kUidBytesMax));
  return errors;
}

FieldErrors check_spec(const FieldPath& path, const Json& spec) {
  FieldErrors errors =
      check_required(path.child("podName"), text_at(spec, "podName"), dns_subdomain_problems);
  append(errors, check_required(path.child("podUID"), text_at(spec, "podUID"), short_text));
  append(errors,
         check_required(path.child("selectedNode"), text_at(spec, "selectedNode"), dns_subdomain_problems));
  append(errors, check_length(path, spec, "decisionID", kUidBytesMax));
  if (const Json* group = present(spec, "group")) append(errors, check_group(path.child("group"), *group));
  append(errors, check_gpu_share(path, spec));
  append(errors,
         check_claims(path.child("resourceClaimAllocations"), items(&spec, "resourceClaimAllocations")));
  append(errors, check_volumes(path.child("volumeBindings"), items(&spec, "volumeBindings")));
  if (const Json* made = present(spec, "extendedResourceClaim"))
    append(errors, check_required(path.child("extendedResourceClaim").child("claimName"),
                                  text_at(*made, "claimName"), dns_subdomain_problems));
  append(errors, check_count(path.child("nodeAllocatableResourceClaimStatuses"),
                             items(&spec, "nodeAllocatableResourceClaimStatuses").size(), kClaimsMax));
  append(errors, check_counter(path, spec, "backoffLimit"));
  append(errors, check_term(path, spec));
  return errors;
}

// A gang's record has no pod of its own, and its members have no members.
FieldErrors check_record(const FieldPath& path, const Json& spec) {
  const JsonArray& members = items(&spec, "members");
  FieldErrors errors = check_count(path.child("members"), members.size(), kMembersMax);
  for (const std::string_view field : {"podName", "podUID", "selectedNode"})
    if (!text_at(spec, field).empty())
      errors.push_back(forbidden(path.child(field), "may not be set together with members"));
  for (std::size_t i = 0; i < std::min(members.size(), kMembersMax); ++i) {
    const FieldPath at = path.child("members").index(i);
    append(errors, check_spec(at, members[i]));
    if (present(members[i], "members")) errors.push_back(forbidden(at.child("members"), "may not be nested"));
  }
  return errors;
}

FieldErrors validate(const Json& request, const RuleContext&) {
  static const Json kNone = Json::object();
  const FieldPath path("spec");
  const Json* found = present(request, "spec");
  const Json& spec = found ? *found : kNone;
  return items(&spec, "members").empty() ? check_spec(path, spec) : check_record(path, spec);
}

Json spec_of(const Json& request) {
  const Json* spec = present(request, "spec");
  return spec && spec->is_object() ? *spec : Json::object();
}

// The decision without the fields that the scheduler may change later.
Json decision_of(Json spec) {
  for (const std::string_view field : {"withdrawn", "epoch", "lease"}) spec.as_object().erase(field);
  return spec;
}

bool has_failed(const Json& request) {
  const Json* status = present(request, "status");
  return status && status->string_at("phase") == "Failed";
}

// A decision may be withdrawn and taken over by a later term; another decision may replace it only after it
// failed.
FieldErrors validate_update(const Json& next, const Json& old, const RuleContext& ctx) {
  const Json spec = spec_of(next), before = spec_of(old);
  if (spec == before) return {};
  if (decision_of(spec) == decision_of(before)) {
    // Another Lease counts its terms from 1 again.
    if (spec.part("lease") == before.part("lease") && spec.int_at("epoch") < before.int_at("epoch"))
      return {invalid("spec.epoch", spec.int_at("epoch"), "must not be decreased")};
    if (before.bool_at("withdrawn") && !spec.bool_at("withdrawn"))
      return {invalid("spec.withdrawn", false, "a withdrawn decision stays withdrawn")};
    return check_term(FieldPath("spec"), spec);
  }
  if (spec.string_at("podName") != before.string_at("podName") ||
      spec.string_at("podUID") != before.string_at("podUID"))
    return {invalid("spec", value_or_null(present(next, "spec")), "the pod is immutable")};
  if (!has_failed(old) || spec.string_at("decisionID") == before.string_at("decisionID"))
    return {
        invalid("spec", value_or_null(present(next, "spec")),
                "a decision is immutable; another decisionID may replace it once status.phase is Failed")};
  return validate(next, ctx);
}

// A replaced decision's status does not describe the new one.
void prepare_update(Json& next, const Json& old, const RuleContext&) {
  if (spec_of(next).string_at("decisionID") != spec_of(old).string_at("decisionID"))
    next.as_object().erase("status");
}

FieldErrors check_step(const FieldPath& path, std::string_view step) {
  const std::span<const std::string_view> names = step_names();
  if (std::find(names.begin(), names.end(), step) != names.end()) return {};
  return {not_supported(path, step, names)};
}

FieldErrors validate_status(const Json& next, const Json&, const RuleContext&) {
  static const Json kNone = Json::object();
  const FieldPath path("status");
  const Json* found = present(next, "status");
  const Json& status = found ? *found : kNone;
  FieldErrors errors;
  const std::string_view phase = text_at(status, "phase");
  if (!phase.empty() && phase != "Pending" && phase != "Succeeded" && phase != "Failed")
    errors.push_back(not_supported(path.child("phase"), phase, {"", "Failed", "Pending", "Succeeded"}));
  append(errors, check_step(path.child("step"), text_at(status, "step")));
  if (text_at(status, "reason").size() > kReasonBytesMax)
    errors.push_back(too_long(path.child("reason"), kReasonBytesMax));
  if (text_at(status, "message").size() > kMessageBytesMax)
    errors.push_back(too_long(path.child("message"), kMessageBytesMax));
  append(errors, check_counter(path, status, "failedAttempts"));
  append(errors, check_counter(path, status, "observedGeneration"));
  append(errors, check_claims(path.child("claims"), items(&status, "claims")));
  append(errors, check_conditions(path.child("conditions"), items(&status, "conditions"), kConditionsMax));
  return errors;
}

}  // namespace

KindRules bind_request_rules() {
  KindRules rules;
  rules.group = kBerthGroup;
  rules.resource = "bindrequests";
  rules.has_generation = true;
  rules.prepare_create = [](Json& request, const RuleContext& ctx) {
    request.as_object().erase("status");
    drop_gated_fields(request_type("BindRequest"), request, nullptr, ctx.gates);
  };
  rules.prepare_update = prepare_update;
  rules.validate_create = validate;
  rules.validate_update = validate_update;
  rules.validate_status_update = validate_status;
  return rules;
}

}  // namespace berth::api
