#include "server/reviews.h"

#include <algorithm>

#include "api/types/meta.h"
#include "server/metadata.h"

namespace berth::server {
namespace {

constexpr std::string_view kAuthorizationGroup = "authorization.k8s.io";

User subject_of(const Json& spec) {
  return {std::string(spec.string_at("user")), api::decode_strings(spec.items_at("groups"))};
}

rbac::Decision decision_on(Access& access, const User& user, const Json& spec) {
  if (const Json* path = spec.find("nonResourceAttributes"))
    return access.decide(user, {.verb = path->string_at("verb"),
                                .group = "",
                                .resource = "",
                                .ns = "",
                                .name = "",
                                .path = path->string_at("path")});
  const Json& asked = spec.part("resourceAttributes");
  std::string resource(asked.string_at("resource"));
  if (!asked.string_at("subresource").empty()) resource.append("/").append(asked.string_at("subresource"));
  return access.decide(user, {asked.string_at("verb"), asked.string_at("group"), std::move(resource),
                              asked.string_at("namespace"), asked.string_at("name")});
}

Json access_status(const rbac::Decision& decision) {
  Json status = Json::object({{"allowed", decision.allowed}});
  if (!decision.reason.empty()) status["reason"] = decision.reason;
  return status;
}

void check_attributes(api::FieldErrors& errors, const Json& spec) {
  const bool by_path = spec.find("nonResourceAttributes"), by_resource = spec.find("resourceAttributes");
  if (by_path == by_resource)
    errors.push_back(api::invalid(
        "spec", Json(), "exactly one of nonResourceAttributes or resourceAttributes must be specified"));
}

void check_subject(api::FieldErrors& errors, const Json& spec) {
  if (spec.string_at("user").empty() && spec.items_at("groups").empty())
    errors.push_back(api::invalid("spec.user", Json(""), "at least one of user or group must be specified"));
}

ApiResult<void> accepted(const api::FieldErrors& errors) {
  if (errors.empty()) return {};
  return invalid(kAuthorizationGroup, "", "", errors);
}

ApiResult<Json> self_access(const Json& review, const ReviewContext& context) {
  const Json& spec = review.part("spec");
  api::FieldErrors errors;
  check_attributes(errors, spec);
  TRY(accepted(errors));
  return access_status(decision_on(context.access, context.user, spec));
}

ApiResult<Json> subject_access(const Json& review, const ReviewContext& context) {
  const Json& spec = review.part("spec");
  api::FieldErrors errors;
  check_attributes(errors, spec);
  check_subject(errors, spec);
  TRY(accepted(errors));
  return access_status(decision_on(context.access, subject_of(spec), spec));
}

ApiResult<Json> local_subject_access(const Json& review, const ReviewContext& context) {
  const Json& spec = review.part("spec");
  api::FieldErrors errors;
  check_attributes(errors, spec);
  check_subject(errors, spec);
  const Json* asked = spec.find("resourceAttributes");
  if (asked && asked->string_at("namespace") != context.ns)
    errors.push_back(api::invalid("spec.resourceAttributes.namespace", asked->string_at("namespace"),
                                  "must match metadata.namespace"));
  if (const Json* path = spec.find("nonResourceAttributes"))
    errors.push_back(api::invalid("spec.nonResourceAttributes", *path, "disallowed on this kind of request"));
  TRY(accepted(errors));
  return access_status(decision_on(context.access, subject_of(spec), spec));
}

ApiResult<Json> self_rules(const Json& review, const ReviewContext& context) {
  const std::string_view ns = review.part("spec").string_at("namespace");
  if (ns.empty()) return bad_request("no namespace on request");
  JsonArray resources, paths;
  const auto add = [](JsonArray& list, Json rule) {
    if (std::find(list.begin(), list.end(), rule) == list.end()) list.push_back(std::move(rule));
  };
  const Json all = Json::array({"*"});
  if (context.user.is_administrator()) {
    resources.push_back(Json::object({{"verbs", all}, {"apiGroups", all}, {"resources", all}}));
    paths.push_back(Json::object({{"verbs", all}, {"nonResourceURLs", all}}));
  }
  const PolicyPtr policy = context.access.policy();
  const rbac::UserRules rules = policy->rules_for(context.user, ns);
  for (const rbac::PolicyRule* rule : rules.rules) {
    if (!rule->resources.empty()) add(resources, rule->to_json());
    if (!rule->paths.empty()) add(paths, rule->to_json());
  }
  Json status = Json::object({{"resourceRules", std::move(resources)},
                              {"nonResourceRules", std::move(paths)},
                              {"incomplete", false}});
  if (!rules.error.empty()) status["evaluationError"] = rules.error;
  return status;
}

ApiResult<Json> self(const Json&, const ReviewContext& context) {
  return Json::object({{"userInfo", rbac::user_info(context.user)}});
}

ApiResult<Json> token(const Json& review, const ReviewContext& context) {
  const Json& spec = review.part("spec");
  const std::string_view text = spec.string_at("token");
  if (text.empty()) return bad_request("token is required for TokenReview in authentication");
  std::vector<std::string> audiences = api::decode_strings(spec.items_at("audiences"));
  if (audiences.empty()) audiences.emplace_back(kTokenIssuer);
  const auto refused = [](const std::string& why) {
    return Json::object({{"user", Json::object()}, {"error", why}});
  };
  if (!context.tokens) return refused("invalid bearer token");
  const auto credential = context.tokens->authenticate(text, audiences);
  if (!credential) return refused(credential.error().message());
  return Json::object({{"authenticated", true},
                       {"user", rbac::user_info(credential->user)},
                       {"audiences", api::to_json(credential->audiences)}});
}

struct Review {
  std::string_view resource;
  ApiResult<Json> (*status)(const Json& review, const ReviewContext& context);
};

constexpr Review kReviews[] = {
    {"selfsubjectaccessreviews", self_access},
    {"selfsubjectrulesreviews", self_rules},
    {"subjectaccessreviews", subject_access},
    {"localsubjectaccessreviews", local_subject_access},
    {"selfsubjectreviews", self},
    {"tokenreviews", token},
};

}  // namespace

ApiResult<std::optional<Answer>> review(const api::ResourceInfo& resource, Json review,
                                        const ReviewContext& context) {
  for (const Review& row : kReviews) {
    if (row.resource != resource.plural) continue;
    Json status = TRY(row.status(review, context));
    review["status"] = std::move(status);
    if (!review.find("metadata")) review["metadata"] = Json::object();
    if (resource.plural == "selfsubjectreviews")
      review["metadata"]["creationTimestamp"] = format_time(context.now);
    return std::optional(Answer{.code = 201, .document = to_string(in_api_order(review))});
  }
  return std::optional<Answer>();
}

}  // namespace berth::server
