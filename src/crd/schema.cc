#include "crd/schema.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/key_index.h"
#include "cel/regex.h"
#include "crd/formats.h"

namespace berth::crd {
namespace {

struct TypeWord {
  Schema::Type type;
  std::string_view word;
};
constexpr std::array<TypeWord, 6> kTypeWords = {{{Schema::Type::Object, "object"},
                                                 {Schema::Type::Array, "array"},
                                                 {Schema::Type::String, "string"},
                                                 {Schema::Type::Integer, "integer"},
                                                 {Schema::Type::Number, "number"},
                                                 {Schema::Type::Boolean, "boolean"}}};

Schema::Type type_of_word(std::string_view word) {
  if (word.empty()) return Schema::Type::Any;
  for (const TypeWord& row : kTypeWords)
    if (row.word == word) return row.type;
  return Schema::Type::Unknown;
}

std::optional<std::int64_t> whole(const Json& props, std::string_view name) {
  const Json* value = props.find(name);
  return value && value->is_int() ? std::optional(value->as_int()) : std::nullopt;
}

std::optional<double> number(const Json& props, std::string_view name) {
  const Json* value = props.find(name);
  return value && value->is_number() ? std::optional(value->as_double()) : std::nullopt;
}

std::vector<std::string> texts(const Json& props, std::string_view name) {
  std::vector<std::string> list;
  for (const Json& item : props.items_at(name))
    if (item.is_string()) list.push_back(item.as_string());
  return list;
}

std::vector<Schema> schemas(const Json& props, std::string_view name, cel::PatternCache& patterns) {
  std::vector<Schema> list;
  for (const Json& item : props.items_at(name)) list.push_back(read_schema(item, patterns));
  return list;
}

bool is_int_or_string_option(const Json& options) {
  static const Json kOptions =
      Json::array({Json::object({{"type", "integer"}}), Json::object({{"type", "string"}})});
  return options == kOptions;
}

void read_extensions(const Json& props, Schema& schema) {
  schema.int_or_string = props.bool_at("x-kubernetes-int-or-string");
  schema.keeps_unknown = props.bool_at("x-kubernetes-preserve-unknown-fields");
  schema.embedded = props.bool_at("x-kubernetes-embedded-resource");
  schema.atomic_map = props.string_at("x-kubernetes-map-type") == "atomic";
  const std::string_view list = props.string_at("x-kubernetes-list-type");
  if (list == "atomic") schema.list = Schema::List::Atomic;
  if (list == "set") schema.list = Schema::List::Set;
  if (list == "map") schema.list = Schema::List::Map;
  schema.map_keys = texts(props, "x-kubernetes-list-map-keys");
  for (const Json& item : props.items_at("x-kubernetes-validations"))
    schema.rules.push_back({std::string(item.string_at("rule")), std::string(item.string_at("message")),
                            std::string(item.string_at("messageExpression")),
                            std::string(item.string_at("reason")), std::string(item.string_at("fieldPath")),
                            item.bool_at("optionalOldSelf")});
}

std::uint32_t hash_of_choice(const Json& value) {
  if (!value.is_number())
    return KeyIndex::hash_of(value.is_string() ? value.as_string() : sorted_text(value));
  const double number = value.as_double() + 0.0;  // of both zeros one
  return KeyIndex::hash_of({reinterpret_cast<const char*>(&number), sizeof number});
}

void read_restrictions(const Json& props, Schema& schema, cel::PatternCache& patterns) {
  schema.format = checked_format(schema.type, props.string_at("format"));
  schema.minimum = number(props, "minimum");
  schema.maximum = number(props, "maximum");
  schema.multiple_of = number(props, "multipleOf");
  schema.above_minimum = props.bool_at("exclusiveMinimum");
  schema.below_maximum = props.bool_at("exclusiveMaximum");
  schema.length_min = whole(props, "minLength");
  schema.length_max = whole(props, "maxLength");
  schema.items_min = whole(props, "minItems");
  schema.items_max = whole(props, "maxItems");
  schema.members_min = whole(props, "minProperties");
  schema.members_max = whole(props, "maxProperties");
  schema.unique_items = props.bool_at("uniqueItems");
  schema.pattern = props.string_at("pattern");
  std::string reason;
  if (!schema.pattern.empty()) schema.regex = cel::cached_pattern(patterns, schema.pattern, reason);
  schema.choices = props.items_at("enum");
  schema.choices_by_hash.reserve(schema.choices.size());
  for (const Json& choice : schema.choices)
    schema.choices_by_hash.emplace_back(hash_of_choice(choice),
                                        static_cast<std::uint32_t>(schema.choices_by_hash.size()));
  std::sort(schema.choices_by_hash.begin(), schema.choices_by_hash.end());
  schema.required = texts(props, "required");
  schema.all_of = schemas(props, "allOf", patterns);
  // Of an integer or a string, that is what its type says already.
  const bool says_type = schema.int_or_string && is_int_or_string_option(props.part("anyOf"));
  if (!says_type) schema.any_of = schemas(props, "anyOf", patterns);
  schema.one_of = schemas(props, "oneOf", patterns);
  if (const Json* none = props.find("not"))
    schema.none_of = std::make_unique<Schema>(read_schema(*none, patterns));
}

void read_children(const Json& props, Schema& schema, cel::PatternCache& patterns) {
  if (const Json* properties = props.find("properties"); properties && properties->is_object()) {
    std::vector<const JsonMember*> members;
    members.reserve(properties->as_object().size());
    for (const JsonMember& member : properties->as_object()) members.push_back(&member);
    // Of repeated names the first one stays first.
    std::sort(members.begin(), members.end(), [](const JsonMember* a, const JsonMember* b) {
      const int order = a->key.compare(b->key);
      return order != 0 ? order < 0 : a < b;
    });
    schema.properties.reserve(members.size());
    for (const JsonMember* member : members)
      schema.properties.push_back({member->key, read_schema(member->value, patterns)});
  }
  if (const Json* items = props.find("items"); items && items->is_object())
    schema.items = std::make_unique<Schema>(read_schema(*items, patterns));
  const Json* additional = props.find("additionalProperties");
  if (!additional) return;
  if (additional->is_object())
    schema.additional = std::make_unique<Schema>(read_schema(*additional, patterns));
  if (additional->is_bool()) {
    schema.takes_any_member = additional->as_bool();
    schema.refuses_other_members = !additional->as_bool();
  }
}

void summarize(Schema& schema) {
  const auto add = [&schema](const Schema& below) {
    schema.has_rules |= below.has_rules;
    schema.has_unique |= below.has_unique;
    schema.has_embedded |= below.has_embedded;
    schema.has_fallbacks |= below.has_fallbacks || below.fallback.has_value();
  };
  schema.has_rules = !schema.rules.empty();
  schema.has_unique = schema.list == Schema::List::Set || schema.list == Schema::List::Map;
  schema.has_embedded = schema.embedded;
  for (std::size_t at = 0; at < schema.properties.size(); ++at) {
    add(schema.properties[at].schema);
    if (schema.properties[at].schema.fallback)
      schema.fallback_properties.push_back(static_cast<std::uint32_t>(at));
  }
  if (schema.items) add(*schema.items);
  if (schema.additional) add(*schema.additional);
}

// As most properties do.
bool says_only_type(const Json& props) {
  if (!props.is_object()) return false;
  const JsonObject& members = props.as_object();
  return std::all_of(members.begin(), members.end(), [](const JsonMember& member) {
    return member.key == "type" || member.key == "description";
  });
}

}  // namespace

Schema::Schema() = default;
Schema::Schema(Schema&&) noexcept = default;
Schema& Schema::operator=(Schema&&) noexcept = default;
Schema::~Schema() = default;

const Schema* Schema::property(std::string_view name) const {
  const auto at =
      std::lower_bound(properties.begin(), properties.end(), name,
                       [](const Property& have, std::string_view want) { return have.name < want; });
  return at != properties.end() && at->name == name ? &at->schema : nullptr;
}

const Schema* Schema::member(std::string_view name) const {
  const Schema* own = property(name);
  return own ? own : additional.get();
}

Schema read_schema(const Json& props) {
  cel::PatternCache patterns;
  return read_schema(props, patterns);
}

Schema read_schema(const Json& props, cel::PatternCache& patterns) {
  Schema schema;
  schema.type = type_of_word(props.string_at("type"));
  schema.nullable = props.bool_at("nullable");
  if (const Json* fallback = props.find("default"); fallback && !fallback->is_null())
    schema.fallback = *fallback;
  if (says_only_type(props)) return schema;
  read_extensions(props, schema);
  read_restrictions(props, schema, patterns);
  read_children(props, schema, patterns);
  summarize(schema);
  return schema;
}

namespace {

void append_sorted(std::string& text, const Json& value) {
  if (value.is_array()) {
    text += '[';
    for (const Json& item : value.as_array()) {
      append_sorted(text, item);
      text += ',';
    }
    text += ']';
    return;
  }
  if (!value.is_object()) return append_to(text, value);
  std::map<std::string_view, const Json*> members;
  for (const JsonMember& member : value.as_object()) members[member.key] = &member.value;
  text += '{';
  for (const auto& [name, member] : members) {
    append_json_string(text, name);
    text += ':';
    append_sorted(text, *member);
    text += ',';
  }
  text += '}';
}

}  // namespace

std::string sorted_text(const Json& value) {
  std::string text;
  append_sorted(text, value);
  return text;
}

bool is_choice(const Schema& schema, const Json& value) {
  const std::uint32_t hash = hash_of_choice(value);
  for (auto at = std::lower_bound(schema.choices_by_hash.begin(), schema.choices_by_hash.end(),
                                  std::pair(hash, std::uint32_t{0}));
       at != schema.choices_by_hash.end() && at->first == hash; ++at) {
    const Json& choice = schema.choices[at->second];
    if (choice == value ||
        (choice.is_number() && value.is_number() && choice.as_double() == value.as_double()))
      return true;
  }
  return false;
}

std::string_view type_name(Schema::Type type) {
  for (const TypeWord& row : kTypeWords)
    if (row.type == type) return row.word;
  return {};
}

}  // namespace berth::crd
