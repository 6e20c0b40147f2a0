#include "admission/review.h"

#include <algorithm>

#include "base/base64.h"

namespace berth::admission {
namespace {

constexpr std::string_view kReviewGroup = "admission.k8s.io/";
constexpr int kFirstRefusalCode = 400, kLastCode = 999;

Json kind_json(const GroupVersionKind& kind) {
  return Json::object({{"group", kind.group}, {"version", kind.version}, {"kind", kind.kind}});
}

Json resource_json(const GroupVersionResource& resource) {
  return Json::object(
      {{"group", resource.group}, {"version", resource.version}, {"resource", resource.resource}});
}

Error invalid_answer(std::string why) {
  return Error(ErrorCode::Invalid, "received invalid webhook response: " + std::move(why));
}

std::string quoted(std::string_view text) {
  return to_string(Json(text));
}

// The reference's name of a review's type.
std::string review_type(std::string_view api_version, std::string_view kind) {
  return std::string(api_version) + ", Kind=" + std::string(kind);
}

Status check_envelope(const Webhook& webhook, std::string_view uid, const Json& review) {
  const Json* response = review.find("response");
  if (!response || !response->is_object()) return invalid_answer("webhook response was absent");
  // The older version verified neither.
  if (webhook.review_version != "v1") return {};
  if (response->string_at("uid") != uid)
    return invalid_answer("expected response.uid=" + quoted(uid) + ", got " +
                          quoted(response->string_at("uid")));
  const std::string expected = review_type(std::string(kReviewGroup) + "v1", "AdmissionReview");
  const std::string got = review_type(review.string_at("apiVersion"), review.string_at("kind"));
  if (got != expected) return invalid_answer("expected webhook response of " + expected + ", got " + got);
  return {};
}

Status check_patch_members(const Webhook& webhook, const Json& response) {
  const bool has_patch = !response.string_at("patch").empty();
  const Json* type = response.find("patchType");
  const bool has_type = type && !type->is_null();
  if (webhook.review_version != "v1") return {};
  if (webhook.phase == Phase::Validating) {
    if (has_patch) return invalid_answer("validating webhook may not return response.patch");
    if (has_type) return invalid_answer("validating webhook may not return response.patchType");
    return {};
  }
  if (has_patch && !has_type)
    return invalid_answer("webhook returned response.patch but not response.patchType");
  if (!has_patch && has_type)
    return invalid_answer("webhook returned response.patchType but not response.patch");
  if (has_type && *type == Json(""))
    return invalid_answer("webhook returned invalid response.patchType of \"\"");
  if (has_type && *type != Json("JSONPatch"))
    return Error(ErrorCode::Invalid, "unsupported patch type " + to_string(*type));
  return {};
}

// A list of operations; its meaning is for whoever applies it.
Result<Json> read_patch(std::string_view base64) {
  constexpr std::string_view kUndecodable = "received undecodable patch in webhook response: ";
  const Result<std::string> text = base64_decode(base64);
  if (!text)
    return Error(ErrorCode::Invalid, "failed to call webhook: response.patch: " + text.error().text());
  Result<Json> patch = parse_json(*text);
  if (!patch) return Error(ErrorCode::Invalid, std::string(kUndecodable) + patch.error().text());
  if (!patch->is_array() && !patch->is_null())
    return Error(ErrorCode::Invalid, std::string(kUndecodable) + "it is no list of operations");
  if (patch->is_array() && patch->as_array().empty()) return Json();
  return patch;
}

AuditAnnotations read_annotations(const Webhook& webhook, const Json& response) {
  AuditAnnotations annotations;
  const Json& given = response.part("auditAnnotations");
  if (!given.is_object()) return annotations;
  for (const JsonMember& member : given.as_object()) {
    if (annotations.size() == kAuditAnnotationsMax) break;
    if (!member.value.is_string()) continue;
    const std::string& value = member.value.as_string();
    annotations.emplace_back(webhook.name + "/" + member.key,
                             value.substr(0, std::min(value.size(), kAuditValueBytesMax)));
  }
  return annotations;
}

}  // namespace

Json request_of(const Attributes& attributes, const SeenAs& seen) {
  Json request = Json::object({{"kind", kind_json(seen.kind)}, {"resource", resource_json(seen.resource)}});
  if (!attributes.subresource.empty()) request["subResource"] = attributes.subresource;
  request["requestKind"] = kind_json(attributes.kind);
  request["requestResource"] = resource_json(attributes.resource);
  if (!attributes.subresource.empty()) request["requestSubResource"] = attributes.subresource;
  if (!attributes.name.empty()) request["name"] = attributes.name;
  if (!attributes.ns.empty()) request["namespace"] = attributes.ns;
  request["operation"] = name_of(attributes.operation);
  request["userInfo"] = rbac::user_info(attributes.user);
  request["dryRun"] = attributes.dry_run;
  request["options"] = attributes.options;
  return request;
}

std::string review_body(std::string_view review_version, std::string_view uid, const Json& request,
                        const Json& object, const Json& old) {
  std::string body = R"({"kind":"AdmissionReview","apiVersion":")";
  body.append(kReviewGroup).append(review_version).append(R"(","request":{"uid":)");
  append_json_string(body, uid);
  for (const JsonMember& member : request.as_object()) {
    // As the reference writes them: the objects come before the last two.
    if (member.key == "dryRun") {
      body += ",\"object\":";
      append_to(body, object);
      body += ",\"oldObject\":";
      append_to(body, old);
    }
    body += ',';
    append_json_string(body, member.key);
    body += ':';
    append_to(body, member.value);
  }
  return body + "}}";
}

Result<ReviewAnswer> read_answer(const Webhook& webhook, std::string_view uid, std::string_view body) {
  const Result<Json> review = parse_json(body);
  if (!review)
    return Error(ErrorCode::Invalid,
                 "failed to call webhook: the answer is no JSON: " + review.error().text());
  TRY(check_envelope(webhook, uid, *review));
  const Json& response = review->part("response");
  TRY(check_patch_members(webhook, response));
  ReviewAnswer answer;
  answer.allowed = response.bool_at("allowed");
  answer.annotations = read_annotations(webhook, response);
  for (const Json& warning : response.items_at("warnings"))
    if (warning.is_string() && answer.warnings.size() < kWarningsMax)
      answer.warnings.push_back(warning.as_string());
  if (!answer.allowed) {
    answer.result = response.part("status");
    return answer;
  }
  if (webhook.phase == Phase::Mutating && !response.string_at("patch").empty())
    answer.patch = TRY(read_patch(response.string_at("patch")));
  return answer;
}

Denial denial_of(const Webhook& webhook, const Json& result) {
  Denial denial;
  denial.code =
      static_cast<int>(std::clamp<std::int64_t>(result.int_at("code"), kFirstRefusalCode, kLastCode));
  denial.reason = result.string_at("reason");
  denial.message = "admission webhook " + quoted(webhook.name) + " denied the request";
  const std::string_view said = result.string_at("message");
  if (!said.empty())
    denial.message.append(": ").append(said);
  else if (!denial.reason.empty())
    denial.message.append(": ").append(denial.reason);
  else
    denial.message += " without explanation";
  return denial;
}

}  // namespace berth::admission
