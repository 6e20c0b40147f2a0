#include "crd/conversion_review.h"

#include "api/field_error.h"
#include "api/kinds/formats.h"

namespace berth::crd {
namespace {

constexpr std::string_view kReviewGroup = "apiextensions.k8s.io/";

Error refused(std::string text) {
  return Error(ErrorCode::Invalid, std::move(text));
}

struct Identity {
  std::string_view word, member;
};

Status check_same_object(const Json& original, const Json& converted) {
  if (!(original.part("kind") == converted.part("kind")))
    return refused("must have the same kind: " + std::string(original.string_at("kind")) +
                   " != " + std::string(converted.string_at("kind")));
  static constexpr Identity kIdentity[] = {{"name", "name"}, {"namespace", "namespace"}, {"UID", "uid"}};
  for (const Identity& row : kIdentity) {
    const std::string_view before = original.part("metadata").string_at(row.member),
                           after = converted.part("metadata").string_at(row.member);
    if (before != after)
      return refused("must have the same " + std::string(row.word) + ": " + std::string(before) +
                     " != " + std::string(after));
  }
  return {};
}

// The webhook's labels or annotations, where they are some, in the metadata of the original.
Status take_member(Json& metadata, const Json& answered, std::string_view member) {
  const std::string path = "metadata." + std::string(member);
  const Json& asked = answered.part(member);
  if (asked.is_null()) {
    metadata.as_object().erase(member);
    return {};
  }
  if (!asked.is_object())
    return refused("invalid " + path + " of type " + std::string(api::go_type_of(asked)) +
                   " in converted object");
  for (const JsonMember& entry : asked.as_object())
    if (!entry.value.is_string())
      return refused(path + "[" + entry.key + "] must be a string, but is " +
                     std::string(api::go_type_of(entry.value)) + " in converted object");
  if (!(asked == std::as_const(metadata).part(member))) {
    const api::FieldErrors errors =
        member == "labels" ? api::check_labels(path, &asked) : api::check_annotations(path, &asked);
    if (!errors.empty()) return refused(api::to_text(errors));
  }
  metadata[member] = asked;
  return {};
}

Status restore_metadata(const Json& original, Json& converted) {
  const Json* answered = std::as_const(converted).find("metadata");
  if (!answered) return refused("missing metadata in converted object");
  if (!answered->is_object())
    return refused("invalid metadata of type " + std::string(api::go_type_of(*answered)) +
                   " in converted object");
  Json metadata = original.part("metadata").is_object() ? original.part("metadata") : Json::object();
  for (const std::string_view member : {"labels", "annotations"})
    TRY(take_member(metadata, *answered, member));
  converted["metadata"] = std::move(metadata);
  return {};
}

}  // namespace

ConversionWebhook read_conversion_webhook(const Json& conversion) {
  ConversionWebhook webhook;
  const Json& settings = conversion.part("webhook");
  webhook.client = read_webhook_client(settings.part("clientConfig"));
  for (const Json& version : settings.items_at("conversionReviewVersions")) {
    if (!(version == Json("v1")) && !(version == Json("v1beta1"))) continue;
    webhook.review_version = version.as_string();
    break;
  }
  return webhook;
}

std::string kind_text(const Json& object) {
  const std::string_view version = object.string_at("apiVersion");
  return std::string(version) + ", Kind=" + std::string(object.string_at("kind"));
}

std::string conversion_request(std::string_view review_version, std::string_view uid,
                               std::string_view desired_version, const std::vector<std::string>& objects) {
  std::string body = R"({"kind":"ConversionReview","apiVersion":")";
  body.append(kReviewGroup).append(review_version).append(R"(","request":{"uid":")").append(uid);
  body.append(R"(","desiredAPIVersion":)").append(to_string(Json(desired_version))).append(R"(,"objects":[)");
  bool first = true;
  for (const std::string& object : objects) {
    if (!std::exchange(first, false)) body += ',';
    body += object;
  }
  return body.append("]}}");
}

Result<JsonArray> converted_objects(const Json& answer, std::string_view review_version,
                                    std::string_view uid) {
  const std::string expected = std::string(kReviewGroup) + std::string(review_version);
  if (answer.string_at("apiVersion") != expected || answer.string_at("kind") != "ConversionReview")
    return refused("expected webhook response of " + expected + ", Kind=ConversionReview, got " +
                   kind_text(answer));
  const Json& response = answer.part("response");
  if (!response.is_object()) return refused("no response provided");
  if (response.string_at("uid") != uid)
    return refused("expected response.uid=" + to_string(Json(uid)) + ", got " +
                   to_string(Json(response.string_at("uid"))));
  const Json& result = response.part("result");
  if (result.string_at("status") != "Success") {
    const std::string_view why = result.string_at("message");
    return refused(!why.empty() ? std::string(why)
                                : "response.result.status was '" + std::string(result.string_at("status")) +
                                      "', not 'Success'");
  }
  return response.items_at("convertedObjects");
}

Result<Json> accepted_conversion(const Json& original, Json converted, std::string_view desired_version) {
  const std::string_view version = std::as_const(converted).string_at("apiVersion");
  if (version != desired_version)
    return refused("invalid object at index 0: invalid groupVersion (expected " +
                   std::string(desired_version) + ", received " + std::string(version) + ")");
  const std::string_view kind = std::as_const(converted).string_at("kind");
  if (kind != original.string_at("kind"))
    return refused("invalid object at index 0: invalid kind (expected " +
                   std::string(original.string_at("kind")) + ", received " + std::string(kind) + ")");
  if (const Status same = check_same_object(original, converted); !same)
    return refused("invalid object: " + std::string(same.error().message()));
  if (const Status restored = restore_metadata(original, converted); !restored)
    return refused("invalid metadata: " + std::string(restored.error().message()));
  return converted;
}

}  // namespace berth::crd
