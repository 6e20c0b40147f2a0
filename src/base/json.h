// A JSON document that can be read and edited: members keep their order, integers stay exact.
//
// An own type instead of a library's: it is in headers of every room, and third-party headers are not allowed
// there (docs/architecture.md#json). simdjson parses, hidden in json.cc.
//
// Copies share the contents of objects and arrays (copy_on_write.h): a copy is O(1), a write copies the level
// that it changes. So read through const: find(), begin() or as_array() on a non-const value is a write.
// References into a shared document are valid until it is written, const ones as well.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/copy_on_write.h"
#include "base/key_index.h"
#include "base/result.h"

namespace berth {

class Json;
struct JsonMember;
using JsonArray = std::vector<Json>;

// Members in insertion order. Lookup is linear up to kSearchedMembersMax members, which few API objects
// exceed, and O(1) above. Erasing is linear; erase_if() removes many in one pass.
//
// Functions that need the complete member type are defined below: clang instantiates constexpr members at
// once.
class JsonObject {
 public:
  using Members = std::vector<JsonMember>;
  static constexpr std::size_t kSearchedMembersMax = 32;

  JsonObject();
  explicit JsonObject(Members members);
  JsonObject(const JsonObject& other);
  JsonObject(JsonObject&& other) noexcept;
  JsonObject& operator=(const JsonObject& other);
  JsonObject& operator=(JsonObject&& other) noexcept;
  ~JsonObject();

  const Json* find(std::string_view key) const;
  Json* find(std::string_view key);
  // The member's value, made null at the end when absent.
  Json& operator[](std::string_view key);
  // Appends without looking for a member of the same name.
  void append(std::string key, Json value);
  // False when there was no such member.
  bool erase(std::string_view key);
  // Removes every member that `unwanted` accepts.
  void erase_if(const std::function<bool(const JsonMember&)>& unwanted);

  std::size_t size() const;
  bool empty() const;
  // Reserves memory for `count` members.
  void reserve(std::size_t count);
  Members::const_iterator begin() const;
  Members::const_iterator end() const;
  // For changing values; names must stay.
  Members::iterator begin();
  Members::iterator end();

  // Like Json::shares_with().
  bool shares_with(const JsonObject& other) const { return contents_.is_same_as(other.contents_); }

  // Equal when they have the same members in any order.
  friend bool operator==(const JsonObject& a, const JsonObject& b);

 private:
  struct Contents;
  CopyOnWrite<Contents> contents_;
};

class Json {
 public:
  Json() = default;
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  Json(int value) : value_(std::int64_t{value}) {}
  Json(std::int64_t value) : value_(value) {}
  Json(double value) : value_(value) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(JsonArray value) : value_(CopyOnWrite<JsonArray>(std::move(value))) {}
  Json(JsonObject value) : value_(std::move(value)) {}

  // Json::object({{"name", "x"}, {"count", 1}})
  static Json object(std::initializer_list<JsonMember> members = {});
  static Json array(std::initializer_list<Json> items = {});

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_int() const { return std::holds_alternative<std::int64_t>(value_); }
  bool is_double() const { return std::holds_alternative<double>(value_); }
  bool is_number() const { return is_int() || is_double(); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<CopyOnWrite<JsonArray>>(value_); }
  bool is_object() const { return std::holds_alternative<JsonObject>(value_); }

  // The typed value; the kind must match.
  bool as_bool() const { return std::get<bool>(value_); }
  std::int64_t as_int() const { return std::get<std::int64_t>(value_); }
  double as_double() const { return is_int() ? static_cast<double>(as_int()) : std::get<double>(value_); }
  const std::string& as_string() const { return std::get<std::string>(value_); }
  std::string& as_string() { return std::get<std::string>(value_); }
  const JsonArray& as_array() const { return std::get<CopyOnWrite<JsonArray>>(value_).read(); }
  JsonArray& as_array() { return std::get<CopyOnWrite<JsonArray>>(value_).lend(); }
  const JsonObject& as_object() const { return std::get<JsonObject>(value_); }
  JsonObject& as_object() { return std::get<JsonObject>(value_); }

  // The member of an object; null pointer for an absent member or another kind of value.
  const Json* find(std::string_view key) const;
  Json* find(std::string_view key);
  // Follows member names from here; null pointer as soon as one is absent.
  const Json* find_path(std::initializer_list<std::string_view> keys) const;
  // The member, or a static null: a chain of calls may pass through absent members.
  const Json& part(std::string_view key) const;
  // The member, made when absent; a null becomes an empty object first. Any other kind is a caller's mistake.
  Json& operator[](std::string_view key);

  // The string member `key`, or empty.
  std::string_view string_at(std::string_view key) const;
  // The integer member `key`, or `otherwise`.
  std::int64_t int_at(std::string_view key, std::int64_t otherwise = 0) const;
  bool bool_at(std::string_view key, bool otherwise = false) const;
  // The items of the array member `key`; empty when absent.
  const JsonArray& items_at(std::string_view key) const;

  // True when both are arrays or both objects and share their contents, so they are equal. O(1).
  bool shares_with(const Json& other) const;

  friend bool operator==(const Json& a, const Json& b) { return a.value_ == b.value_; }

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, CopyOnWrite<JsonArray>, JsonObject>
      value_;
};

struct JsonMember {
  std::string key;
  Json value;
  friend bool operator==(const JsonMember&, const JsonMember&) = default;
};

struct JsonObject::Contents {
  Members members;
  KeyIndex index;        // of the first member of each name; empty up to kSearchedMembersMax
  bool repeats = false;  // the index lacks members
  // The position of the first member of that name; the member count without one.
  std::size_t place_of(std::string_view key) const;
  void append(std::string key, Json value);
  void add_to_index(std::uint32_t at);
  void make_index();
};

inline JsonObject::JsonObject() = default;
inline JsonObject::JsonObject(const JsonObject& other) = default;
inline JsonObject::JsonObject(JsonObject&& other) noexcept = default;
inline JsonObject& JsonObject::operator=(const JsonObject& other) = default;
inline JsonObject& JsonObject::operator=(JsonObject&& other) noexcept = default;
inline JsonObject::~JsonObject() = default;
inline std::size_t JsonObject::size() const {
  return contents_.read().members.size();
}
inline bool JsonObject::empty() const {
  return contents_.read().members.empty();
}
inline JsonObject::Members::const_iterator JsonObject::begin() const {
  return contents_.read().members.begin();
}
inline JsonObject::Members::const_iterator JsonObject::end() const {
  return contents_.read().members.end();
}
inline JsonObject::Members::iterator JsonObject::begin() {
  return contents_.lend().members.begin();
}
inline JsonObject::Members::iterator JsonObject::end() {
  return contents_.lend().members.end();
}

inline constexpr std::size_t kJsonDepthMax = 1000;

// Refuses what RFC 8259 refuses, nesting deeper than kJsonDepthMax and integers outside int64 (those become
// doubles when they fit one). Repeated member names are all kept, in order. Cost: about 1 GB/s.
Result<Json> parse_json(std::string_view text);

std::string to_string(const Json& json);
void append_to(std::string& out, const Json& json);
// Appends `text` quoted and escaped.
void append_json_string(std::string& out, std::string_view text);
// Two spaces a level, as `kubectl -o json` users expect.
std::string to_pretty_string(const Json& json);

}  // namespace berth
