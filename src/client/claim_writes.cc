#include "client/claim_writes.h"

namespace berth::client {
namespace {

Write on_seen_version(const api::ResourceClaim& claim, Json status) {
  return merge_patch(key_of(api::Kind::ResourceClaim, claim.meta),
                     Json::object({{"status", std::move(status)}}), claim.meta.uid,
                     claim.meta.resource_version, "status");
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

}  // namespace berth::client
