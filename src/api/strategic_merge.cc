// The strategic half of patch.h: merging by the rules of the type table.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "api/patch.h"

namespace berth::api {
namespace {

constexpr std::string_view kPatch = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kSetOrder = "$setElementOrder/";
constexpr std::string_view kDeleteFrom = "$deleteFromPrimitiveList/";

Error failed(std::string message) {
  return Error(ErrorCode::Internal, std::move(message));
}

Error unknown_directive(const Json& directive, const Json& patch) {
  return failed(
      fmt::format("unknown patch type: {} in map: {}", go_value_text(directive), go_value_text(patch)));
}
Error no_merge_key(const Json& element, std::string_view key) {
  return failed(fmt::format("map: {} does not contain declared merge key: {}", go_value_text(element), key));
}

// The table's knowledge of the current value: its type, or nothing inside free-form maps.
struct Schema {
  const TypeInfo* type = nullptr;
  bool map_of_type = false;  // the value is a map whose values are of `type`

  const FieldInfo* field(std::string_view key) const {
    return type && !map_of_type ? type->field_by_json(key) : nullptr;
  }
  Schema below(std::string_view key) const {
    if (map_of_type) return {type, false};
    const FieldInfo* found = field(key);
    if (!found || found->kind != ValueKind::Message) return {};
    return {&found->type(), found->shape == Shape::Map};
  }
};

enum class Nested { Keep, Drop };

// Removes what belongs to a patch only: elements with directives, and nulls.
Nested strip(Json& value) {
  if (value.is_object()) {
    if (value.find(kPatch)) return Nested::Drop;
    JsonObject kept;
    for (JsonMember& member : value.as_object())
      if (!member.value.is_null() && strip(member.value) == Nested::Keep)
        kept.append(std::move(member.key), std::move(member.value));
    value = Json(std::move(kept));
  } else if (value.is_array()) {
    std::erase_if(value.as_array(), [](Json& item) { return strip(item) == Nested::Drop; });
  }
  return Nested::Keep;
}

// Identity of a list's element: its merge key's value, or itself. Null without the merge key.
const Json* identity(const Json& element, std::string_view merge_key) {
  return merge_key.empty() ? &element : element.find(merge_key);
}

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

std::size_t position(const JsonArray& list, const Json& wanted, std::string_view merge_key) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (const Json* id = identity(list[i], merge_key); id && *id == wanted) return i;
  return kNowhere;
}

std::size_t position_of(const JsonArray& list, const Json& element, std::string_view merge_key) {
  const Json* id = identity(element, merge_key);
  return id ? position(list, *id, merge_key) : kNowhere;
}

void sort_like(JsonArray& items, const JsonArray& order, std::string_view merge_key) {
  std::vector<std::pair<std::size_t, std::size_t>> places;  // in `order`, then in `items`
  for (std::size_t i = 0; i < items.size(); ++i)
    places.emplace_back(position_of(order, items[i], merge_key), i);
  std::sort(places.begin(), places.end());
  JsonArray sorted;
  sorted.reserve(items.size());
  for (const auto& [unused, i] : places) sorted.push_back(std::move(items[i]));
  items = std::move(sorted);
}

// Elements of the patch in the patch's order, merged with the server's order: an element that only the server
// has comes first where the server's list says so, else after.
JsonArray ordered(JsonArray merged, const JsonArray& patch_order, const JsonArray& server_order,
                  std::string_view merge_key) {
  JsonArray named, rest, out;
  for (Json& item : merged)
    (position_of(patch_order, item, merge_key) == kNowhere ? rest : named).push_back(std::move(item));
  sort_like(named, patch_order, merge_key);
  sort_like(rest, server_order, merge_key);
  std::size_t r = 0, n = 0;
  while (r < rest.size() || n < named.size()) {
    bool take_rest = n == named.size();
    if (!take_rest && r < rest.size()) {
      const std::size_t a = position_of(server_order, rest[r], merge_key);
      const std::size_t b = position_of(server_order, named[n], merge_key);
      take_rest = a != kNowhere && b != kNowhere && a < b;
    }
    out.push_back(std::move(take_rest ? rest[r++] : named[n++]));
  }
  return out;
}

Result<Json> merge_map(Schema schema, Json original, Json patch);

// Carries out the deletions and returns whether the patch's list replaces the original.
Result<bool> take_special_elements(JsonArray& original, JsonArray& patch, std::string_view merge_key) {
  bool replace = false;
  JsonArray plain;
  for (Json& element : patch) {
    if (!element.is_object()) return failed("lists of objects and of plain values do not merge");
    const Json* directive = element.find(kPatch);
    if (!directive) {
      plain.push_back(std::move(element));
      continue;
    }
    const std::string_view word =
        directive->is_string() ? std::string_view(directive->as_string()) : std::string_view();
    if (word == "delete") {
      const Json* id = identity(element, merge_key);
      if (!id) return no_merge_key(element, merge_key);
      std::erase_if(original,
                    [&](const Json& item) { return item.find(merge_key) && *item.find(merge_key) == *id; });
    } else if (word == "replace") {
      replace = true;
    } else if (word == "merge") {
      return failed("merging lists cannot yet be specified in the patch");
    } else {
      return unknown_directive(*directive, element);
    }
  }
  patch = std::move(plain);
  return replace;
}

bool holds_objects(const JsonArray& a, const JsonArray& b) {
  return !a.empty() ? a.front().is_object() : !b.empty() && b.front().is_object();
}

Result<JsonArray> merge_objects(Schema schema, JsonArray original, JsonArray patch,
                                std::string_view merge_key) {
  if (merge_key.empty()) return failed("cannot merge lists without merge key");
  if (TRY(take_special_elements(original, patch, merge_key))) return patch;
  const JsonArray server_order = original;
  const JsonArray patch_order = patch;
  for (Json& element : patch) {
    const Json* id = identity(element, merge_key);
    if (!id) return no_merge_key(element, merge_key);
    const std::size_t at = position(original, *id, merge_key);
    if (at == kNowhere)
      original.push_back(std::move(element));
    else
      original[at] = TRY(merge_map(schema, std::move(original[at]), std::move(element)));
  }
  return ordered(std::move(original), patch_order, server_order, merge_key);
}

JsonArray merge_scalars(JsonArray original, JsonArray patch) {
  JsonArray merged;
  for (const JsonArray* list : {&original, &patch})
    for (const Json& item : *list)
      if (position(merged, item, {}) == kNowhere) merged.push_back(item);
  return ordered(std::move(merged), patch, original, {});
}

Result<Json> merge_list(Schema below, const FieldInfo* field, Json original, Json patch) {
  if (!field || !field->is(kPatchMerge)) return patch;
  JsonArray& old = original.as_array();
  JsonArray& fresh = patch.as_array();
  if (old.empty() && fresh.empty()) return original;
  if (!holds_objects(old, fresh)) return Json(merge_scalars(std::move(old), std::move(fresh)));
  return Json(TRY(merge_objects(below, std::move(old), std::move(fresh), field->merge_key)));
}

// The patch's elements stand in the same order in the directive's list.
Status check_order(const JsonArray& patch, const JsonArray& order, std::string_view merge_key) {
  if (patch.empty() || order.empty()) return {};
  std::size_t next = 0;
  for (const Json& element : patch) {
    if (element.find(kPatch)) continue;
    const Json* id = identity(element, merge_key);
    if (!id) return no_merge_key(element, merge_key);
    while (next < order.size() &&
           !(identity(order[next], merge_key) && *identity(order[next], merge_key) == *id))
      ++next;
    if (next++ >= order.size())
      return failed(fmt::format("The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                                go_value_text(Json(patch)), go_value_text(Json(order))));
  }
  return {};
}

// $setElementOrder/F: merges F here and removes it from the patch.
Status apply_set_order(Schema schema, std::string_view key, const Json& order, Json& original, Json& patch) {
  Json* old = original.find(key);
  Json* fresh = patch.find(key);
  const bool lists = order.is_array() && (!old || old->is_array()) && (!fresh || fresh->is_array());
  if (!lists) return failed("$setElementOrder needs lists");
  const FieldInfo* field = schema.field(key);
  const std::string_view merge_key = field ? field->merge_key : std::string_view();
  if (fresh)
    if (const Status good = check_order(fresh->as_array(), order.as_array(), merge_key); !good) return good;
  if (!old && !fresh) return {};
  const JsonArray server_order = old ? old->as_array() : JsonArray();
  Json merged;
  if (old && fresh)
    merged = TRY(merge_list(schema.below(key), field, *old, *fresh));
  else
    merged = old ? *old : *fresh;
  if (!old) strip(merged);
  if (!merge_key.empty())
    for (const Json& item : merged.as_array())
      if (!identity(item, merge_key)) return no_merge_key(item, merge_key);
  original[key] = Json(ordered(std::move(merged.as_array()), order.as_array(), server_order, merge_key));
  patch.as_object().erase(key);
  return {};
}

Status apply_set_orders(Schema schema, Json& original, Json& patch) {
  std::vector<JsonMember> directives;
  for (const JsonMember& member : patch.as_object())
    if (member.key.starts_with(kSetOrder)) directives.push_back(member);
  for (const JsonMember& directive : directives) {
    patch.as_object().erase(directive.key);
    const Status done = apply_set_order(schema, std::string_view(directive.key).substr(kSetOrder.size()),
                                        directive.value, original, patch);
    if (!done) return done;
  }
  return {};
}

Status apply_retain_keys(Json& original, Json& patch) {
  const Json* given = patch.find(kRetainKeys);
  if (!given) return {};
  const Json list = *given;
  patch.as_object().erase(kRetainKeys);
  const auto listed = [&](std::string_view key) {
    return position(list.as_array(), Json(key), {}) != kNowhere;
  };
  bool good = list.is_array();
  if (good)
    for (const JsonMember& member : patch.as_object()) {
      const bool directive = member.key.starts_with(kDeleteFrom) || member.key.starts_with(kSetOrder);
      good &= member.value.is_null() || directive || listed(member.key);
    }
  if (!good) return failed("invalid patch format of retainKeys");
  JsonObject kept;
  for (JsonMember& member : original.as_object())
    if (listed(member.key)) kept.append(std::move(member.key), std::move(member.value));
  original = Json(std::move(kept));
  return {};
}

bool same_type(const Json& a, const Json& b) {
  return (a.is_object() && b.is_object()) || (a.is_array() && b.is_array());
}

Status apply_member(Schema schema, Json& original, std::string_view key, Json value) {
  if (value.is_null()) {
    original.as_object().erase(key);
    return {};
  }
  Json* old = original.find(key);
  if (!old || !same_type(*old, value)) {
    if (strip(value) == Nested::Keep)
      original[key] = std::move(value);
    else
      original.as_object().erase(key);
    return {};
  }
  const FieldInfo* field = schema.field(key);
  if (value.is_array())
    *old = TRY(merge_list(schema.below(key), field, std::move(*old), std::move(value)));
  else if (field && field->is(kPatchReplace))
    *old = std::move(value);
  else
    *old = TRY(merge_map(schema.below(key), std::move(*old), std::move(value)));
  return {};
}

Status delete_from_list(Json& original, std::string_view key, const Json& unwanted) {
  Json* old = original.find(key);
  if (!old || !old->is_array() || !unwanted.is_array()) return {};
  std::erase_if(old->as_array(),
                [&](const Json& item) { return position(unwanted.as_array(), item, {}) != kNowhere; });
  return {};
}

Result<Json> merge_map(Schema schema, Json original, Json patch) {
  if (const Json* directive = patch.find(kPatch)) {
    if (directive->is_string() && directive->as_string() == "delete") return Json::object();
    if (!directive->is_string() || directive->as_string() != "replace")
      return unknown_directive(*directive, patch);
    patch.as_object().erase(kPatch);
    return patch;
  }
  if (const Status done = apply_retain_keys(original, patch); !done) return done.error();
  if (const Status done = apply_set_orders(schema, original, patch); !done) return done.error();
  for (JsonMember& member : patch.as_object()) {
    const std::string_view key = member.key;
    const Status done = key.starts_with(kDeleteFrom)
                            ? delete_from_list(original, key.substr(kDeleteFrom.size()), member.value)
                            : apply_member(schema, original, key, std::move(member.value));
    if (!done) return done.error();
  }
  return original;
}

}  // namespace

Result<Json> strategic_merge_patched(const TypeInfo& type, Json document, Json patch) {
  return merge_map({&type, false}, std::move(document), std::move(patch));
}

}  // namespace berth::api
