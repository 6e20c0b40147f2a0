#include "client/whole_objects.h"

#include <algorithm>
#include <array>

#include "api/protobuf.h"
#include "api/protobuf_merge.h"
#include "api/protobuf_objects.h"
#include "api/type_table.h"

namespace berth::client {
namespace {

// What Berth writes by patches for every pod or gang.
struct Replaced {
  std::string_view group, resource;
};
constexpr std::array<Replaced, 3> kReplaced = {{
    {"resource.k8s.io", "resourceclaims"},
    {"scheduling.k8s.io", "podgroups"},
    {"scheduling.k8s.io", "compositepodgroups"},
}};

bool is_replaced(const api::ResourceRef& resource) {
  return std::any_of(kReplaced.begin(), kReplaced.end(), [&](const Replaced& one) {
    return one.group == resource.group && one.resource == resource.resource;
  });
}

bool is_absent(const Json* value) {
  return value == nullptr || value->is_null();
}

// A null in a patch removes a member; of one that is not there it says nothing.
Json without_nulls(const Json& value) {
  if (value.is_array()) {
    Json items = Json::array();
    for (const Json& item : value.as_array()) items.as_array().push_back(without_nulls(item));
    return items;
  }
  if (!value.is_object()) return value;
  Json members = Json::object();
  for (const JsonMember& member : value.as_object())
    if (!member.value.is_null()) members[member.key] = without_nulls(member.value);
  return members;
}

class AdditionFinder {
 public:
  explicit AdditionFinder(Verb verb) : strategic_(verb == Verb::StrategicPatch) {}

  // `type` is null below members that have none.
  std::optional<Json> members(const Json& base, const Json& patch, const api::TypeInfo* type) const {
    Json added = Json::object();
    for (const JsonMember& given : patch.as_object()) {
      const api::FieldInfo* field = type ? type->field_by_json(given.key) : nullptr;
      const std::optional<Json> more = member(base.find(given.key), given.value, field);
      if (!more) return std::nullopt;
      if (!more->is_null()) added[given.key] = *more;
    }
    return added;
  }

 private:
  // Null: nothing is added.
  std::optional<Json> member(const Json* base, const Json& given, const api::FieldInfo* field) const {
    if (given.is_null()) return is_absent(base) ? std::optional(Json()) : std::nullopt;
    if (is_absent(base)) return without_nulls(given);
    if (given.is_array() && base->is_array()) return items(base->as_array(), given.as_array(), field);
    if (!given.is_object() || !base->is_object())
      return given == *base ? std::optional(Json()) : std::nullopt;
    const bool is_part = field && field->kind == api::ValueKind::Message && field->shape == api::Shape::One;
    std::optional<Json> more = members(*base, given, is_part ? &field->type() : nullptr);
    if (more && more->as_object().empty()) return Json();
    return more;
  }

  std::optional<Json> items(const JsonArray& base, const JsonArray& given,
                            const api::FieldInfo* field) const {
    if (strategic_ && field && field->is(api::kPatchMerge)) return new_items(base, given, *field);
    if (given.size() < base.size() || !std::equal(base.begin(), base.end(), given.begin()))
      return std::nullopt;
    return appended({given.begin() + static_cast<std::ptrdiff_t>(base.size()), given.end()});
  }

  static std::optional<Json> new_items(const JsonArray& base, const JsonArray& given,
                                       const api::FieldInfo& field) {
    if (field.merge_key.empty()) return std::nullopt;
    const auto has_key = [&](const Json& item, std::string_view key) {
      return item.is_object() && item.string_at(field.merge_key) == key;
    };
    for (const Json& item : given) {
      const std::string_view key = item.is_object() ? item.string_at(field.merge_key) : "";
      const bool known =
          std::any_of(base.begin(), base.end(), [&](const Json& one) { return has_key(one, key); });
      if (key.empty() || known) return std::nullopt;
    }
    return appended(given);
  }

  static Json appended(const JsonArray& items) { return items.empty() ? Json() : without_nulls(Json(items)); }

  const bool strategic_;
};

// Versions are decimal numbers without leading zeros.
bool is_later(std::string_view version, std::string_view than) {
  return version.size() != than.size() ? version.size() > than.size() : version > than;
}

}  // namespace

std::optional<Json> addition_of(const Json& base, const Json& patch, Verb verb, const api::TypeInfo& type) {
  return AdditionFinder(verb).members(base, patch, &type);
}

void WholeObjects::heard(const api::ResourceRef& resource, const api::RawPtr& object) {
  if (!object || !is_replaced(resource) || !api::is_protobuf(*object)) return;
  const std::string_view version = api::protobuf_resource_version(*object).value_or("");
  const std::string_view uid = api::protobuf_uid(*object).value_or("");
  if (version.empty() || uid.empty()) return;
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  if (const auto found = by_uid_.find(uid); found != by_uid_.end()) {
    if (!is_later(version, found->second->version)) return;
    forget(found->second);
  }
  order_.push_back({std::string(uid), std::string(version), object});
  by_uid_.emplace(order_.back().uid, std::prev(order_.end()));
  bytes_ += object->size();
  while (bytes_ > kWholeObjectBytesMax) forget(order_.begin());
}

void WholeObjects::gone(const api::ResourceRef& resource, const api::RawPtr& object) {
  if (!object || !is_replaced(resource) || !api::is_protobuf(*object)) return;
  const std::lock_guard lock(mutex_);
  const auto found = by_uid_.find(api::protobuf_uid(*object).value_or(""));
  if (found != by_uid_.end()) forget(found->second);
}

void WholeObjects::forget(Order::iterator known) {
  bytes_ -= known->object->size();
  by_uid_.erase(known->uid);
  order_.erase(known);
}

std::optional<std::string> WholeObjects::instead_of(const ApiRequest& patch) {
  if ((patch.verb != Verb::MergePatch && patch.verb != Verb::StrategicPatch) || !is_replaced(patch.resource))
    return std::nullopt;
  const Result<Json> wanted = parse_json(patch.body);
  if (!wanted || !wanted->is_object()) return std::nullopt;
  const Json& meta = wanted->part("metadata");
  const api::RawPtr object = at(meta.string_at("uid"), meta.string_at("resourceVersion"));
  if (!object) return std::nullopt;
  const Result<api::ProtobufEnvelope> envelope = api::open_protobuf_envelope(*object);
  const api::TypeInfo* type = envelope ? api::find_kind(envelope->api_version, envelope->kind) : nullptr;
  if (!type) return std::nullopt;
  const Result<Json> base = api::decode_protobuf(*type, envelope->message, api::ManagedFields::Skip);
  if (!base) return std::nullopt;
  std::optional<Json> addition = addition_of(*base, *wanted, patch.verb, *type);
  if (!addition || addition->as_object().empty()) return std::nullopt;
  Result<std::string> body = api::with_added(*object, std::move(*addition));
  if (!body) return std::nullopt;
  return std::move(body).value();
}

void WholeObjects::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  by_uid_.clear();
  order_.clear();
  bytes_ = 0;
}

api::RawPtr WholeObjects::at(std::string_view uid, std::string_view version) {
  const std::lock_guard lock(mutex_);
  const auto found = by_uid_.find(uid);
  const bool known = found != by_uid_.end() && found->second->version == version;
  return known ? found->second->object : nullptr;
}

}  // namespace berth::client
