#include "server/metadata.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <vector>

namespace berth::server {
namespace {

constexpr std::string_view kRevisionSlot = "@";
constexpr std::string_view kRevisionMember = "resourceVersion";

constexpr std::array<std::string_view, 15> kMetadataOrder = {"name",
                                                             "generateName",
                                                             "namespace",
                                                             "selfLink",
                                                             "uid",
                                                             "resourceVersion",
                                                             "generation",
                                                             "creationTimestamp",
                                                             "deletionTimestamp",
                                                             "deletionGracePeriodSeconds",
                                                             "labels",
                                                             "annotations",
                                                             "ownerReferences",
                                                             "finalizers",
                                                             "managedFields"};

constexpr std::array<std::string_view, 3> kObjectOrder = {"kind", "apiVersion", "metadata"};

// The named members first, in that order; the others keep theirs. Of a name that is repeated the first
// counts.
JsonObject reordered(JsonObject object, std::span<const std::string_view> order) {
  std::vector<JsonMember*> named(order.size());
  JsonObject::Members others, result;
  for (JsonMember& member : object) {
    const auto at = std::find(order.begin(), order.end(), member.key);
    if (at == order.end())
      others.push_back(std::move(member));
    else if (JsonMember*& place = named[static_cast<std::size_t>(at - order.begin())]; !place)
      place = &member;
  }
  result.reserve(object.size());
  for (JsonMember* member : named)
    if (member) result.push_back(std::move(*member));
  std::move(others.begin(), others.end(), std::back_inserter(result));
  return JsonObject(std::move(result));
}

}  // namespace

void copy_or_erase(Json& to, const Json& from, std::string_view member) {
  if (const Json* value = from.find(member))
    to[member] = *value;
  else
    to.as_object().erase(member);
}

Json& metadata_of(Json& object) {
  Json& metadata = object["metadata"];
  if (!metadata.is_object()) metadata = Json::object();
  return metadata;
}

const Json& metadata_of(const Json& object) {
  static const Json kEmpty = Json::object();
  const Json* metadata = object.find("metadata");
  return metadata && metadata->is_object() ? *metadata : kEmpty;
}

bool is_deleting(const Json& object) {
  return !metadata_of(object).string_at("deletionTimestamp").empty();
}

bool has_finalizers(const Json& object) {
  return !metadata_of(object).items_at("finalizers").empty();
}

bool has_finalizer(const Json& object, std::string_view finalizer) {
  const JsonArray& list = metadata_of(object).items_at("finalizers");
  return std::find(list.begin(), list.end(), Json(finalizer)) != list.end();
}

void set_finalizer(Json& object, std::string_view finalizer) {
  Json& list = metadata_of(object)["finalizers"];
  if (!list.is_array()) list = Json::array();
  for (const Json& item : list.as_array())
    if (item == Json(finalizer)) return;
  list.as_array().emplace_back(finalizer);
}

void drop_finalizer(Json& object, std::string_view finalizer) {
  Json& metadata = metadata_of(object);
  Json* list = metadata.find("finalizers");
  if (!list || !list->is_array()) return;
  std::erase(list->as_array(), Json(finalizer));
  if (list->as_array().empty()) metadata.as_object().erase("finalizers");
}

void mark_deleted(Json& object, Time now, std::int64_t grace_s) {
  Json& metadata = metadata_of(object);
  if (metadata.string_at("deletionTimestamp").empty()) {
    metadata["deletionTimestamp"] = format_time(now + Duration::seconds(grace_s));
    if (metadata.find("generation")) metadata["generation"] = metadata.int_at("generation") + 1;
  }
  metadata["deletionGracePeriodSeconds"] = grace_s;
}

void restore_system_fields(Json& next, const Json& before) {
  Json& metadata = metadata_of(next);
  const Json& old = metadata_of(before);
  for (std::string_view key : {"name", "namespace", "uid", "creationTimestamp", "generation"})
    copy_or_erase(metadata, old, key);
  metadata.as_object().erase("selfLink");
  // A deletion in progress stays; validation refuses an update that begins one.
  if (is_deleting(before)) copy_or_erase(metadata, old, "deletionTimestamp");
  if (!metadata.find("deletionGracePeriodSeconds"))
    copy_or_erase(metadata, old, "deletionGracePeriodSeconds");
}

bool spec_differs(const Json& a, const Json& b) {
  const auto differs = [](const Json& from, const Json& to) {
    for (const JsonMember& member : from.as_object()) {
      if (member.key == "metadata" || member.key == "status") continue;
      const Json* other = to.find(member.key);
      if (!other || !(*other == member.value)) return true;
    }
    return false;
  };
  return differs(a, b) || differs(b, a);
}

Json in_api_order(Json object) {
  Json& metadata = metadata_of(object);
  metadata = Json(reordered(std::move(metadata.as_object()), kMetadataOrder));
  return Json(reordered(std::move(object.as_object()), kObjectOrder));
}

Json in_stored_order(Json object) {
  set_revision(object, kRevisionSlot);
  return in_api_order(std::move(object));
}

void set_revision(Json& object, std::string_view revision) {
  metadata_of(object)[kRevisionMember] = revision;
}

store::Draft draft_of(const Json& ordered) {
  std::string bytes = to_string(ordered);
  static constexpr std::string_view kMember = "\"resourceVersion\":\"";
  // Nothing before it in metadata can hold unescaped quotes of another member of this name.
  const std::size_t slot = bytes.find(std::string(kMember).append(kRevisionSlot)) + kMember.size();
  std::string tail = bytes.substr(slot + kRevisionSlot.size());
  bytes.resize(slot);
  return {std::move(bytes), std::move(tail)};
}

}  // namespace berth::server
