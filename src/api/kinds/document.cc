#include "api/kinds/document.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "api/canonical.h"
#include "base/assert.h"

namespace berth::api {
namespace {

const JsonArray kNoItems;
const JsonObject kNoEntries;

// Calls `visit` for every document of a part below the member, with its type.
template <class Value, class Visit>
void each_part(Value& member, const FieldInfo& field, Visit visit) {
  if (field.kind != ValueKind::Message) return;
  if (field.shape == Shape::One) return visit(member, field.type());
  if (member.is_array())
    for (auto& item : member.as_array()) visit(item, field.type());
  else if (member.is_object())
    for (auto& entry : member.as_object()) visit(entry.value, field.type());
}

// The Go name of a field: initials that Go writes in capitals, else the JSON name with a capital.
std::string go_name(std::string_view json) {
  constexpr std::pair<std::string_view, std::string_view> kInitials[] = {
      {"apiGroup", "APIGroup"}, {"cel", "CEL"}, {"ips", "IPs"}, {"uid", "UID"}};
  for (const auto& [name, go] : kInitials)
    if (name == json) return std::string(go);
  std::string name(json);
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

Json go_member(const Json* value, const FieldInfo& field) {
  if (!value) {
    if (field.shape != Shape::One || field.is(kPointer)) return nullptr;
    return field.kind == ValueKind::Message ? go_form(Json::object(), field.type()) : zero_of(field);
  }
  Json out = *value;
  if (field.kind != ValueKind::Message) return out;
  if (field.shape == Shape::One) return go_form(*value, field.type());
  each_part(out, field, [](Json& part, const TypeInfo& type) { part = go_form(Json(part), type); });
  return out;
}

}  // namespace

const Json* present(const Json& object, std::string_view key) {
  const Json* member = object.find(key);
  return member && !member->is_null() ? member : nullptr;
}

const Json* present(const Json* object, std::string_view key) {
  return object ? present(*object, key) : nullptr;
}

Json* present(Json& object, std::string_view key) {
  Json* member = object.find(key);
  return member && !member->is_null() ? member : nullptr;
}

const Json* present_at(const Json& object, std::initializer_list<std::string_view> keys) {
  const Json* at = &object;
  for (std::string_view key : keys) at = present(at, key);
  return at;
}

const Json* present_path(const Json& object, std::string_view path) {
  const Json* at = &object;
  while (at && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    at = present(at, path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return at;
}

Json* present_at(Json& object, std::initializer_list<std::string_view> keys) {
  if (!present_at(std::as_const(object), keys)) return nullptr;
  Json* at = &object;
  for (std::string_view key : keys) at = present(*at, key);
  return at;
}

const JsonArray& items(const Json* object, std::string_view key) {
  const Json* list = present(object, key);
  return list && list->is_array() ? list->as_array() : kNoItems;
}

JsonArray& items(Json& object, std::string_view key) {
  const Json* list = present(std::as_const(object), key);
  // A list that does not exist gets no new items.
  return list && list->is_array() ? object.find(key)->as_array() : const_cast<JsonArray&>(kNoItems);
}

const JsonObject& entries(const Json* map) {
  return map && map->is_object() ? map->as_object() : kNoEntries;
}

bool same(const Json* a, const Json* b) {
  return a && b ? *a == *b : a == b;
}

Json value_or_null(const Json* value) {
  return value ? *value : Json();
}

const Json* item_named(const JsonArray& list, std::string_view key, std::string_view value) {
  for (const Json& item : list)
    if (item.string_at(key) == value) return &item;
  return nullptr;
}

NamedItems::NamedItems(const JsonArray& list, std::string_view key) : list_(list), key_(key) {
  if (list.size() <= kSearchedItemsMax) return;
  sorted_.reserve(list.size());
  for (const Json& item : list) sorted_.emplace_back(item.string_at(key), &item);
  std::sort(sorted_.begin(), sorted_.end());
}

const Json* NamedItems::find(std::string_view value) const {
  if (sorted_.empty()) return item_named(list_, key_, value);
  const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), value,
                                   [](const auto& row, std::string_view name) { return row.first < name; });
  return at != sorted_.end() && at->first == value ? at->second : nullptr;
}

ItemSet::ItemSet(const JsonArray& list) {
  for (const Json& item : list) add(item);
}

void put(Json& object, const TypeInfo& type, std::string_view key, Json value) {
  if (Json* member = object.find(key)) {
    *member = std::move(value);
    return;
  }
  const FieldInfo* field = type.field_by_json(key);
  BERTH_ASSERT(field, "only fields of the type are put");
  JsonObject& members = object.as_object();
  const auto next = std::find_if(members.begin(), members.end(), [&](const JsonMember& member) {
    return type.field_by_json(member.key) > field;
  });
  JsonObject::Members out;
  out.reserve(members.size() + 1);
  std::move(members.begin(), next, std::back_inserter(out));
  out.push_back({std::string(key), std::move(value)});
  std::move(next, members.end(), std::back_inserter(out));
  object = Json(JsonObject(std::move(out)));
}

void add_finalizer(Json& object, std::string_view finalizer) {
  Json& metadata = object["metadata"];
  if (!present(metadata, "finalizers"))
    put(metadata, table_type("meta.k8s.io", "v1", "ObjectMeta"), "finalizers", Json::array());
  JsonArray& finalizers = items(metadata, "finalizers");
  if (std::find(finalizers.begin(), finalizers.end(), Json(finalizer)) == finalizers.end())
    finalizers.emplace_back(finalizer);
}

Json go_form(const Json& value, const TypeInfo& type) {
  if (type.group == "meta.k8s.io") return value;  // its Go type has JSON names as well
  Json out = Json::object();
  for (const FieldInfo& field : type.fields()) {
    if (field.json == "metadata" && field.kind == ValueKind::Message) {
      // Embedded: its members are inlined.
      for (const JsonMember& member : entries(present(value, field.json)))
        out.as_object().append(member.key, member.value);
      continue;
    }
    out.as_object().append(go_name(field.json), go_member(present(value, field.json), field));
  }
  return out;
}

Json go_form_of_list(const JsonArray& values, const TypeInfo& type) {
  JsonArray out;
  for (const Json& value : values) out.push_back(go_form(value, type));
  return Json(std::move(out));
}

const TypeInfo& table_type(std::string_view group, std::string_view version, std::string_view name) {
  const TypeInfo* type = find_type(group, version, name);
  BERTH_ASSERT(type, "the rules name types of the table");
  return *type;
}

}  // namespace berth::api
