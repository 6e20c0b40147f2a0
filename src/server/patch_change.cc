#include "server/patch_change.h"

#include "api/conversions.h"
#include "api/decode.h"
#include "api/patch.h"
#include "server/metadata.h"
#include "server/request_body.h"

namespace berth::server {
namespace {

ApiStatus patch_error(const Error& error) {
  if (error.code() == ErrorCode::Unsupported) return bad_request(error.message());
  ApiStatus status = plain_error(error.message());
  if (error.code() == ErrorCode::TooLarge) {
    status.code = 413;
    status.reason = "RequestEntityTooLarge";
  }
  if (error.code() == ErrorCode::Invalid) {
    status.code = 422;
    status.reason = "Invalid";
    status.message = "the server rejected our request due to an error in our request";
    status.has_details = true;
  }
  return status;
}

Result<Json> patched(api::PatchType type, const api::ResourceInfo& resource, const Json& current,
                     std::string_view patch) {
  if (type == api::PatchType::Json) return api::apply_json_patch(current, patch);
  if (type == api::PatchType::Merge) return api::apply_merge_patch(current, patch);
  return api::apply_strategic_merge_patch(resource.type(), current, patch);
}

// A patch whose result is no object of the kind: the text quotes the whole patched document, or a strategic
// patch itself, like the reference.
ApiStatus refused_result(api::PatchType type, const Json& document, const std::string& patch,
                         std::string_view why) {
  std::string quoted = to_string(api::with_patched_order(document, type, patch));
  if (type == api::PatchType::StrategicMerge)
    if (const Result<Json> map = parse_json(patch)) quoted = api::go_value_text(*map);
  return invalid("", "", "", {api::invalid("patch", quoted, why)});
}

// A JSON or merge patch may not change the object's kind. The reference decodes the result as the kind that
// it names, and reports the first field that does not fit.
ApiResult<void> check_same_kind(const api::ResourceInfo& resource, api::PatchType type, const Json& document,
                                const std::string& patch) {
  const std::string own = api_version_of(resource);
  std::string_view kind = document.string_at("kind"), version = document.string_at("apiVersion");
  if (kind.empty()) kind = resource.kind;
  if (version.empty()) version = own;
  if (kind == resource.kind && version == own) return {};
  const api::TypeInfo* claimed = api::find_kind(version, kind);
  if (!claimed)
    return refused_result(type, document, patch,
                          "no kind \"" + std::string(kind) + "\" is registered for version \"" +
                              std::string(version) + "\" in scheme \"pkg/runtime/scheme.go:111\"");
  const Result<api::Decoded> decoded = api::decode_document(*claimed, document);
  if (!decoded) return refused_result(type, document, patch, decoded.error().message());
  return bad_request("the object's kind " + std::string(kind) + " of " + std::string(version) +
                     " is not the kind of the resource: " + std::string(resource.kind) + " of " + own);
}

// Of a custom resource: strategic merge needs a type.
constexpr std::string_view kCustomPatchTypes =
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";

ApiResult<Json> custom_patched(api::PatchType type, const api::ResourceInfo& resource, const Json& current,
                               const std::string& body, FieldValidation validation,
                               std::vector<std::string>& warnings) {
  if (type == api::PatchType::StrategicMerge) return unsupported_media_type(kCustomPatchTypes);
  const Json served = to_served_shape(resource, current);
  Result<Json> result = type == api::PatchType::Json ? api::apply_json_patch(served, body)
                                                     : api::apply_merge_patch(served, body);
  if (!result) return patch_error(result.error());
  const std::string own = api_version_of(resource);
  if (result->string_at("kind") != resource.kind || result->string_at("apiVersion") != own)
    return bad_request("the object's kind " + std::string(result->string_at("kind")) + " of " +
                       std::string(result->string_at("apiVersion")) +
                       " is not the kind of the resource: " + std::string(resource.kind) + " of " + own);
  std::vector<std::string> strict_errors;
  Json quoted = *result;
  Json next = TRY(shaped_document(resource, std::move(result).value(), strict_errors));
  if (!strict_errors.empty() && validation == FieldValidation::Strict)
    return refused_result(type, quoted, body, api::strict_error_text(strict_errors));
  if (validation == FieldValidation::Warn) warnings = std::move(strict_errors);
  return to_storage(resource, std::move(next));
}

}  // namespace

Registry::Change patch_change(const HttpRequest& request, const api::ResourceInfo& resource,
                              FieldValidation validation, std::vector<std::string>& warnings) {
  const std::optional<api::PatchType> type = api::patch_type_of(media_type(request));
  if (!type) return [](const Json&) -> ApiResult<Json> { return no_patch_type(); };
  return [&resource, &warnings, type = *type, validation,
          body = request.body](const Json& current) -> ApiResult<Json> {
    if (resource.custom) return custom_patched(type, resource, current, body, validation, warnings);
    const Json served = to_served_shape(resource, current);
    Result<Json> result = patched(type, resource, served, body);
    if (!result) return patch_error(result.error());
    // The reference applies a strategic patch to the object in its type, which has no kind to change.
    if (type == api::PatchType::StrategicMerge)
      for (std::string_view key : {"kind", "apiVersion"}) copy_or_erase(*result, served, key);
    const Json asked = *result;
    TRY(check_same_kind(resource, type, asked, body));
    Result<api::Decoded> decoded = api::decode_document(resource.type(), std::move(result).value(), served);
    if (!decoded) return refused_result(type, asked, body, decoded.error().message());
    const bool strict = validation == FieldValidation::Strict;
    if (strict && !decoded->strict_errors.empty())
      return refused_result(type, asked, body, api::strict_error_text(decoded->strict_errors));
    if (validation == FieldValidation::Warn) warnings = decoded->strict_errors;
    return to_storage(resource, std::move(decoded->document));
  };
}

}  // namespace berth::server
