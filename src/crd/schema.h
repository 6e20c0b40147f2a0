// The schema of a custom resource: a tree of what a definition says of each value.
//
// Read once from a JSONSchemaProps document, then immutable and shared by threads. Cost: one pass. Source:
// structural schemas of apiextensions.k8s.io/v1.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "cel/regex.h"

namespace berth::crd {

inline constexpr int kSchemaDepthMax = 200;  // levels of one schema

// One entry of x-kubernetes-validations.
struct Rule {
  std::string rule;
  std::string message;
  std::string message_expression;
  std::string reason;      // FieldValueInvalid when empty
  std::string field_path;  // ".spec.size"
  bool optional_old_self = false;
};

struct Property;

struct Schema {
  enum class Type : std::uint8_t { Any, Object, Array, String, Integer, Number, Boolean, Unknown };
  enum class List : std::uint8_t { None, Atomic, Set, Map };

  Type type = Type::Any;
  List list = List::None;
  bool nullable = false;
  bool int_or_string = false;
  bool keeps_unknown = false;  // x-kubernetes-preserve-unknown-fields
  bool embedded = false;       // x-kubernetes-embedded-resource
  bool atomic_map = false;
  bool takes_any_member = false;       // additionalProperties: true
  bool refuses_other_members = false;  // additionalProperties: false
  std::vector<std::string> map_keys;
  std::vector<Property> properties;  // by name
  std::unique_ptr<Schema> items;
  std::unique_ptr<Schema> additional;  // additionalProperties: {…}
  std::optional<Json> fallback;        // default

  // Restrictions of the value.
  std::string format;  // without those that are not checked
  std::optional<double> minimum, maximum, multiple_of;
  bool above_minimum = false, below_maximum = false;  // exclusive
  std::optional<std::int64_t> length_min, length_max, items_min, items_max, members_min, members_max;
  bool unique_items = false;
  std::string pattern;
  std::shared_ptr<const cel::Regex> regex;  // null with a pattern: nothing matches it
  JsonArray choices;                        // enum
  std::vector<std::pair<std::uint32_t, std::uint32_t>> choices_by_hash;  // and position
  std::vector<std::string> required;
  std::vector<Schema> all_of, any_of, one_of;
  std::unique_ptr<Schema> none_of;  // not
  std::vector<Rule> rules;
  bool has_rules = false;                          // here or below
  bool has_fallbacks = false;                      // below
  bool has_unique = false;                         // lists of type set or map, here or below
  bool has_embedded = false;                       // here or below
  std::vector<std::uint32_t> fallback_properties;  // positions of those with a default

  Schema();
  Schema(Schema&&) noexcept;
  Schema& operator=(Schema&&) noexcept;
  ~Schema();

  // The schema of a named member alone; null for any other.
  const Schema* property(std::string_view name) const;
  // The same, or the one of every other member.
  const Schema* member(std::string_view name) const;
};

struct Property {
  std::string name;
  Schema schema;
};

// `props` is a canonical JSONSchemaProps within kSchemaDepthMax. What is no structural schema reads as far as
// it goes: check_structure() refuses it.
Schema read_schema(const Json& props);
// The same with patterns that are compiled already; takes those that it compiles.
Schema read_schema(const Json& props, cel::PatternCache& patterns);

// Equal for values that are equal: the order of members is of no account.
std::string sorted_text(const Json& value);

// Whether the enum has the value; an integer is equal to the same number as a double.
bool is_choice(const Schema& schema, const Json& value);

// "object", "array"…; empty for Any and Unknown.
std::string_view type_name(Schema::Type type);

}  // namespace berth::crd
