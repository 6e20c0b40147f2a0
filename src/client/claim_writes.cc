#include "client/claim_writes.h"
#include "api/serialized.h"

namespace berth::client {
namespace {

Write on_seen_version(const api::ResourceClaim& claim, Json status) {
  return merge_patch(key_of(api::Kind::ResourceClaim, claim.meta),
                     Json::object({{"status", std::move(status)}}), claim.meta.uid,
                     claim.meta.resource_version, "status");
}

Write annotate(const api::ObjectKey& key, const api::ObjectMeta& seen, std::string_view name,
               const std::string& text) {
  const Json annotations = Json::object({{std::string(name), text}});
  return merge_patch(key, Json::object({{"metadata", Json::object({{"annotations", annotations}})}}),
                     seen.uid, seen.resource_version);
}

}  // namespace

Write clear_allocation(const api::ResourceClaim& claim) {
  return on_seen_version(
      claim, Json::object({{"allocation", nullptr}, {"reservedFor", nullptr}, {"devices", nullptr}}));
}

Write keep_consumers(const api::ResourceClaim& claim, std::span<const api::ClaimConsumer> consumers) {
  JsonArray items;
  for (const api::ClaimConsumer& consumer : consumers) items.push_back(api::to_json(consumer));
  return on_seen_version(claim, Json::object({{"reservedFor", items.empty() ? Json() : Json(items)}}));
}

Write add_consumer(const api::ResourceClaim& claim, const api::ClaimConsumer& consumer) {
  BERTH_ASSERT(claim.allocation && !claim.reserved_for.empty(), "JSON patch appends to a list that exists");
  // As the server holds it: a field that is not known here takes part.
  const Json object = claim.raw ? api::parse_object(*claim.raw).value_or(Json()) : Json();
  const Json* allocation = object.find_path({"status", "allocation"});
  const auto operation = [](const char* op, const char* path, Json value) {
    return Json::object({{"op", op}, {"path", path}, {"value", std::move(value)}});
  };
  return json_patch(key_of(api::Kind::ResourceClaim, claim.meta),
                    Json::array({operation("test", "/metadata/uid", claim.meta.uid),
                                 operation("test", "/status/allocation",
                                           allocation ? *allocation : api::to_json(*claim.allocation)),
                                 operation("add", "/status/reservedFor/-", api::to_json(consumer))}),
                    "status");
}

Write seal_object(const api::ObjectKey& key, const api::ObjectMeta& seen, const std::string& given_up) {
  return annotate(key, seen, kGivenUpAnnotation, given_up);
}

Write seal_claim(const api::ResourceClaim& claim, const std::string& given_up) {
  return seal_object(key_of(api::Kind::ResourceClaim, claim.meta), claim.meta, given_up);
}

Write renew_reservation(const api::ResourceClaim& claim, const std::string& decision) {
  return annotate(key_of(api::Kind::ResourceClaim, claim.meta), claim.meta, kKeptForAnnotation, decision);
}

}  // namespace berth::client
