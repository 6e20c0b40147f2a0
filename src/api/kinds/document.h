// Functions to read and change canonical documents in the rules of a kind.
//
// A null member counts as absent: the API writes some absent members as null. Pure functions.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/type_table.h"
#include "base/json.h"

namespace berth::api {

// The member, or null when it is absent or null.
const Json* present(const Json& object, std::string_view key);
const Json* present(const Json* object, std::string_view key);
Json* present(Json& object, std::string_view key);
// Follows members; null as soon as one is absent.
const Json* present_at(const Json& object, std::initializer_list<std::string_view> keys);
Json* present_at(Json& object, std::initializer_list<std::string_view> keys);
// The same for "spec.template"; the object itself for an empty path.
const Json* present_path(const Json& object, std::string_view path);
// The items of a list member, none when absent.
const JsonArray& items(const Json* object, std::string_view key);
JsonArray& items(Json& object, std::string_view key);
// The members of a map; none when absent.
const JsonObject& entries(const Json* map);
// Both absent or both the same.
bool same(const Json* a, const Json* b);
// The member's value for a message: JSON null when absent.
Json value_or_null(const Json* value);
// The item of `list` whose string member `key` is `value`; null without one.
const Json* item_named(const JsonArray& list, std::string_view key, std::string_view value);

// The same for many names of one list. Views into the list, which outlives it and stays as it is. Cost: a
// few items are searched; more are sorted once, and a find is O(log n).
class NamedItems {
 public:
  NamedItems(const JsonArray& list, std::string_view key);
  const Json* find(std::string_view value) const;
  // Whether an earlier item has the same value.
  bool is_repeated(const Json& item) const { return find(item.string_at(key_)) != &item; }
  const JsonArray& list() const { return list_; }

 private:
  static constexpr std::size_t kSearchedItemsMax = 16;

  const JsonArray& list_;
  const std::string_view key_;
  std::vector<std::pair<std::string_view, const Json*>> sorted_;  // empty: there are few
};

// Items by their value. Cost: O(log n), and the item as text.
class ItemSet {
 public:
  ItemSet() = default;
  explicit ItemSet(const JsonArray& list);
  bool has(const Json& item) const { return texts_.contains(to_string(item)); }
  // False: an equal item is there.
  bool add(const Json& item) { return texts_.insert(to_string(item)).second; }

 private:
  std::set<std::string> texts_;
};

// Sets a member at its place in the API's order. `object` is a canonical document of `type`.
void put(Json& object, const TypeInfo& type, std::string_view key, Json value);

// Appends the finalizer to those of `object`, unless it has it. `object` is a canonical document with
// metadata.
void add_finalizer(Json& object, std::string_view finalizer);

// The value as Go prints its internal type: every field, by its Go name. Some texts of Kubernetes contain it.
Json go_form(const Json& value, const TypeInfo& type);
Json go_form_of_list(const JsonArray& values, const TypeInfo& type);

// A type of the table that must exist.
const TypeInfo& table_type(std::string_view group, std::string_view version, std::string_view name);

}  // namespace berth::api
