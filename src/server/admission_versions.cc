#include "server/admission_versions.h"

#include "api/conversions.h"
#include "api/decode.h"
#include "crd/object_rules.h"
#include "crd/served_version.h"
#include "crd/shaping.h"
#include "server/metadata.h"
#include "server/object_versions.h"
#include "server/request_body.h"

namespace berth::server {
namespace {

// Between two versions of a custom resource.
ApiResult<Json> between_versions(const ObjectTarget& target, const api::ResourceInfo& from,
                                 const api::ResourceInfo& to, Json document) {
  if (&from == &to) return document;
  const std::string wanted = api_version_of(to);
  if (has_webhook(target)) {
    document["apiVersion"] = api_version_of(from);
    std::optional<Json> made = in_other_version(target, document, wanted);
    if (!made) return internal_error("unable to convert to " + wanted + ": the conversion webhook failed");
    document = *std::move(made);
  }
  document["apiVersion"] = wanted;
  Result<crd::ShapedObject> shaped = crd::shaped(*crd::served_version(to), std::move(document));
  if (!shaped) return internal_error(shaped.error().message());
  return std::move(shaped->document);
}

}  // namespace

ApiResult<Json> seen_document(const ObjectTarget& target, const api::ResourceInfo& seen,
                              const Json& document) {
  if (document.is_null()) return document;
  Json shown = document;
  if (target.resource->custom)
    shown = TRY(between_versions(target, *target.resource, seen, std::move(shown)));
  return in_api_order(to_served_shape(seen, std::move(shown)));
}

ApiResult<Json> written_document(const ObjectTarget& target, const api::ResourceInfo& seen, Json patched,
                                 const Json& before, UnknownMembers unknown) {
  if (seen.custom) {
    Result<crd::ShapedObject> shaped = crd::shaped(*crd::served_version(seen), std::move(patched));
    if (!shaped) return internal_error(shaped.error().message());
    return to_storage(*target.resource,
                      TRY(between_versions(target, seen, *target.resource, std::move(shaped->document))));
  }
  return to_storage(seen, TRY(written_body(seen.type(), std::move(patched), before, unknown)));
}

ApiResult<Json> written_body(const api::TypeInfo& type, Json patched, const Json& before,
                             UnknownMembers unknown) {
  Result<api::Decoded> decoded = api::decode_document(type, std::move(patched), before);
  if (!decoded) return internal_error(decoded.error().message());
  if (unknown == UnknownMembers::Refused && !decoded->strict_errors.empty())
    return internal_error(api::strict_error_text(decoded->strict_errors));
  return std::move(decoded->document);
}

}  // namespace berth::server
