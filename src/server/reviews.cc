#include "server/reviews.h"

#include "server/metadata.h"

namespace berth::server {
namespace {

User subject_of(const Json& spec) {
  User user{std::string(spec.string_at("user")), {}};
  for (const Json& group : spec.items_at("groups"))
    if (group.is_string()) user.groups.push_back(group.as_string());
  return user;
}

bool is_allowed(const User& user, const Json& spec) {
  if (const Json* path = spec.find("nonResourceAttributes"))
    return authorize_path(user, path->string_at("verb"), path->string_at("path")).ok();
  const Json& asked = *spec.find("resourceAttributes");
  std::string resource(asked.string_at("resource"));
  if (!asked.string_at("subresource").empty()) resource.append("/").append(asked.string_at("subresource"));
  return authorize(user, {asked.string_at("verb"), asked.string_at("group"), resource,
                          asked.string_at("namespace"), asked.string_at("name")})
      .ok();
}

ApiResult<Json> access_review(const Json& spec, const User& user) {
  const bool by_path = spec.find("nonResourceAttributes"), by_resource = spec.find("resourceAttributes");
  if (by_path == by_resource)
    return invalid(
        "authorization.k8s.io", "", "",
        {api::invalid("spec", Json(),
                      "exactly one of nonResourceAttributes or resourceAttributes must be specified")});
  return Json::object({{"allowed", is_allowed(user, spec)}});
}

ApiResult<Json> subject_access(const Json& spec, const User&) {
  if (spec.string_at("user").empty() && spec.items_at("groups").empty())
    return invalid("authorization.k8s.io", "", "",
                   {api::invalid("spec.user", Json(""), "at least one of user or group must be specified")});
  return access_review(spec, subject_of(spec));
}

ApiResult<Json> self_rules(const Json&, const User& user) {
  const Json all = Json::array({"*"});
  JsonArray resources, paths;
  if (is_administrator(user)) {
    resources.push_back(Json::object({{"verbs", all}, {"apiGroups", all}, {"resources", all}}));
    paths.push_back(Json::object({{"verbs", all}, {"nonResourceURLs", all}}));
  }
  return Json::object({{"resourceRules", std::move(resources)},
                       {"nonResourceRules", std::move(paths)},
                       {"incomplete", false}});
}

ApiResult<Json> self(const Json&, const User& user) {
  JsonArray groups;
  for (const std::string& group : user.groups) groups.emplace_back(group);
  return Json::object({{"userInfo", Json::object({{"username", user.name}, {"groups", std::move(groups)}})}});
}

// No token is ever issued.
ApiResult<Json> token(const Json&, const User&) {
  return Json::object({{"user", Json::object()}, {"error", "invalid bearer token"}});
}

struct Review {
  std::string_view resource;
  ApiResult<Json> (*status)(const Json& spec, const User& user);
};

constexpr Review kReviews[] = {
    {"selfsubjectaccessreviews", access_review},
    {"selfsubjectrulesreviews", self_rules},
    {"subjectaccessreviews", subject_access},
    {"localsubjectaccessreviews", subject_access},
    {"selfsubjectreviews", self},
    {"tokenreviews", token},
};

}  // namespace

ApiResult<std::optional<Answer>> review(const api::ResourceInfo& resource, Json review, const User& user,
                                        Time now) {
  for (const Review& row : kReviews) {
    if (row.resource != resource.plural) continue;
    static const Json kNoSpec = Json::object();
    const Json* spec = review.find("spec");
    Json status = TRY(row.status(spec ? *spec : kNoSpec, user));
    review["status"] = std::move(status);
    if (!review.find("metadata")) review["metadata"] = Json::object();
    if (resource.plural == "selfsubjectreviews") review["metadata"]["creationTimestamp"] = format_time(now);
    return std::optional(Answer{.code = 201, .document = to_string(in_api_order(review))});
  }
  return std::optional<Answer>();
}

}  // namespace berth::server
