#include "server/admission_review.h"

#include "api/decode.h"
#include "api/json_diff.h"
#include "base/base64.h"
#include "server/request_body.h"
#include "server/status.h"

namespace berth::server {
namespace {

constexpr std::string_view kApiVersion = "admission.k8s.io/v1";
constexpr std::string_view kKind = "AdmissionReview";

// What a review asks, as far as it is about a pod.
struct PodReview {
  std::string uid;
  bool looks_at_pod = false;
  bool creates = false;
  Json pod;
  Json old;  // null unless it is an update
};

Error bad_field(std::string field, std::string sentence) {
  return Error(ErrorCode::Invalid, std::move(field), std::move(sentence));
}

Result<Json> read_pod(const Json& request, std::string_view field) {
  const std::string path = "request." + std::string(field);
  const Json& pod = request.part(field);
  if (!pod.is_object()) return bad_field(path, "must be a Pod");
  Result<api::Decoded> decoded = api::decode_document(api::find_resource("", "v1", "pods")->type(), pod);
  if (!decoded) return bad_field(path, decoded.error().text());
  return std::move(decoded->document);
}

Result<PodReview> read_review(std::string_view body) {
  const Result<Json> parsed = parse_json(body);
  if (!parsed) return bad_field("body", "no JSON: " + parsed.error().text());
  if (parsed->string_at("apiVersion") != kApiVersion)
    return bad_field("apiVersion", "must be " + std::string(kApiVersion));
  if (parsed->string_at("kind") != kKind) return bad_field("kind", "must be " + std::string(kKind));
  const Json& request = parsed->part("request");
  PodReview review;
  review.uid = request.string_at("uid");
  if (review.uid.empty()) return bad_field("request.uid", "must be set: the answer repeats it");
  const Json& resource = request.part("resource");
  const std::string_view operation = request.string_at("operation");
  review.creates = operation == "CREATE";
  review.looks_at_pod = resource.string_at("group").empty() && resource.string_at("resource") == "pods" &&
                        request.string_at("subResource").empty() && (review.creates || operation == "UPDATE");
  if (!review.looks_at_pod) return review;
  review.pod = TRY(read_pod(request, "object"));
  if (!review.creates) review.old = TRY(read_pod(request, "oldObject"));
  return review;
}

HttpResponse allowed(const PodReview& review, Json response) {
  response["uid"] = review.uid;
  response["allowed"] = response.find("status") == nullptr;
  return json_response(
      200, to_string(Json::object(
               {{"apiVersion", kApiVersion}, {"kind", kKind}, {"response", std::move(response)}})));
}

Json mutated(const PodReview& review, const api::Admission& pods) {
  const JsonArray patch = api::json_patch_between(review.pod, pods.mutate(review.pod));
  if (patch.empty()) return Json::object();
  return Json::object({{"patchType", "JSONPatch"}, {"patch", base64_encode(to_string(Json(patch)))}});
}

Json validated(const PodReview& review, const api::Admission& pods) {
  const Json* old = review.creates ? nullptr : &review.old;
  const api::FieldErrors errors = pods.validate(review.pod, old);
  if (errors.empty()) return Json::object();
  const Json& metadata = review.pod.part("metadata");
  const std::string_view name = metadata.string_at("name");
  return Json::object(
      {{"status",
        invalid("", "Pod", name.empty() ? metadata.string_at("generateName") : name, errors).to_json()}});
}

}  // namespace

HttpResponse review_admission(const HttpRequest& request, const api::Admission& pods) {
  const bool mutates = request.path == "/mutate";
  if (!mutates && request.path != "/validate")
    return text_response(404, "404 page not found: reviews are answered on /mutate and /validate\n");
  if (request.method != "POST") return text_response(405, "method not allowed: POST an AdmissionReview\n");
  if (media_type(request) != "application/json")
    return text_response(415, "unsupported media type: an AdmissionReview is application/json\n");
  const Result<PodReview> review = read_review(request.body);
  if (!review) return text_response(400, review.error().text() + "\n");
  if (!review->looks_at_pod || (mutates && !review->creates)) return allowed(*review, Json::object());
  return allowed(*review, mutates ? mutated(*review, pods) : validated(*review, pods));
}

}  // namespace berth::server
