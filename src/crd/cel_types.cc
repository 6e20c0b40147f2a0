#include "crd/cel_types.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/assert.h"
#include "base/base64.h"
#include "base/time.h"
#include "cel/times.h"

namespace berth::crd {
namespace {

using cel::Kind;
using cel::TypeKind;
using cel::TypeRef;
using cel::Value;

constexpr std::array<std::string_view, 21> kReserved = {
    "true",     "false",   "null",      "in",       "as",  "break",  "const",
    "continue", "else",    "for",       "function", "if",  "import", "let",
    "loop",     "package", "namespace", "return",   "var", "void",   "while"};

// Names that the grammar takes after a dot: literals and operators come first.
constexpr std::size_t kNeverFields = 4;

bool may_be_named_plainly(std::string_view name) {
  return std::find(kReserved.begin() + kNeverFields, kReserved.end(), name) != kReserved.end();
}

struct EscapeRow {
  std::string_view plain, escaped;
};
constexpr EscapeRow kEscapes[] = {
    {"__", "__underscores__"}, {".", "__dot__"}, {"-", "__dash__"}, {"/", "__slash__"}};

bool is_identifier(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

const Schema& string_schema() {
  static const Schema kSchema = read_schema(Json::object({{"type", "string"}}));
  return kSchema;
}
const Schema& name_schema() {
  static const Schema kSchema = read_schema(
      Json::object({{"type", "object"},
                    {"properties", Json::object({{"name", Json::object({{"type", "string"}})},
                                                 {"generateName", Json::object({{"type", "string"}})}})}}));
  return kSchema;
}

bool is_resource_member(std::string_view name) {
  return name == "kind" || name == "apiVersion" || name == "metadata";
}

// Whether the schema describes kind, apiVersion, metadata and its names itself.
bool says_all_of_a_resource(const Schema& schema) {
  const auto is = [](const Schema* found, Schema::Type type) { return found && found->type == type; };
  const Schema* metadata = schema.property("metadata");
  return is(schema.property("kind"), Schema::Type::String) &&
         is(schema.property("apiVersion"), Schema::Type::String) && is(metadata, Schema::Type::Object) &&
         is(metadata->property("name"), Schema::Type::String) &&
         is(metadata->property("generateName"), Schema::Type::String);
}

// The schema of a member of an object, kind, apiVersion and metadata of resources included.
const Schema* schema_of_member(const Schema& schema, std::string_view name, bool is_resource) {
  if (is_resource) {
    if (name == "kind" || name == "apiVersion") return &string_schema();
    if (name == "metadata") return &name_schema();
  }
  return schema.member(name);
}

class JsonMap final : public cel::MapSource {
 public:
  JsonMap(const Json& object, const Schema& schema, bool is_resource)
      : members_(object.as_object()), schema_(schema), is_resource_(is_resource) {}

  std::size_t size() const override { return members_.size(); }
  Value key_at(std::size_t index) const override {
    return Value::borrow_string((members_.begin() + static_cast<std::ptrdiff_t>(index))->key);
  }
  bool find(const Value& key, Value& out) const override {
    if (!key.is(Kind::String)) return false;
    std::string plain;
    std::string_view name = key.as_text();
    // Members of objects are named by identifiers, keys of maps by themselves.
    if (!schema_.additional && name.find("__") != std::string_view::npos) {
      plain = unescaped(name);
      name = plain;
    }
    const Json* member = members_.find(name);
    const Schema* schema = member ? schema_of_member(schema_, name, is_resource_) : nullptr;
    if (!schema) return false;
    out = cel_value(*member, *schema, schema->embedded);
    return true;
  }

 private:
  const JsonObject& members_;
  const Schema& schema_;
  const bool is_resource_;
};

class JsonList final : public cel::ListSource {
 public:
  JsonList(const Json& list, const Schema& schema) : items_(list.as_array()), schema_(schema) {}

  std::size_t size() const override { return items_.size(); }
  Value at(std::size_t index) const override {
    if (!schema_.items) return Value::error("items without a schema cannot be read");
    return cel_value(items_[index], *schema_.items, schema_.items->embedded);
  }

 private:
  const JsonArray& items_;
  const Schema& schema_;
};

Value mismatch(std::string_view wanted) {
  return Value::error("invalid data, expected " + std::string(wanted));
}

Value text_value(const std::string& text, const Schema& schema) {
  if (schema.format == "byte") {
    const Result<std::string> bytes = base64_decode(text);
    return bytes ? Value::of_bytes(*bytes) : mismatch("bytes");
  }
  if (schema.format == "duration") {
    const std::optional<std::int64_t> nanos = cel::parse_nanos(text);
    return nanos ? Value::of_duration(*nanos) : mismatch("a duration");
  }
  if (schema.format == "date" || schema.format == "date-time") {
    const std::optional<cel::Instant> instant =
        cel::parse_instant(schema.format == "date" ? text + "T00:00:00Z" : text);
    return instant ? Value::of_instant(*instant) : mismatch("a timestamp");
  }
  return Value::borrow_string(text);
}

Value number_value(const Json& value, const Schema& schema) {
  if (schema.type == Schema::Type::Number) return Value::of_double(value.as_double());
  if (value.is_int()) return Value::of_int(value.as_int());
  const double number = value.as_double();
  if (std::floor(number) == number && std::fabs(number) < 9e18)
    return Value::of_int(static_cast<std::int64_t>(number));
  return schema.int_or_string ? Value::of_double(number) : mismatch("an integer");
}

}  // namespace

std::optional<std::string> escaped(std::string_view name) {
  if (std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end())
    return "__" + std::string(name) + "__";
  std::string text;
  for (std::size_t at = 0; at < name.size();) {
    const EscapeRow* found = nullptr;
    for (const EscapeRow& row : kEscapes)
      if (!found && name.substr(at).starts_with(row.plain)) found = &row;
    if (found) {
      text += found->escaped;
      at += found->plain.size();
    } else {
      text += name[at++];
    }
  }
  return is_identifier(text) ? std::optional(std::move(text)) : std::nullopt;
}

std::string unescaped(std::string_view identifier) {
  for (std::string_view word : kReserved)
    if (identifier.size() == word.size() + 4 && identifier == "__" + std::string(word) + "__")
      return std::string(word);
  std::string text;
  for (std::size_t at = 0; at < identifier.size();) {
    const EscapeRow* found = nullptr;
    for (const EscapeRow& row : kEscapes)
      if (!found && identifier.substr(at).starts_with(row.escaped)) found = &row;
    if (found) {
      text += found->plain;
      at += found->escaped.size();
    } else {
      text += identifier[at++];
    }
  }
  return text;
}

CelTypes::CelTypes()
    : environment_(cel::Environment::extending([]() -> const cel::Environment& {
        static const cel::Environment kLibrary = [] {
          cel::Environment library;
          cel::declare_standard_library(library);
          return library;
        }();
        return kLibrary;
      }())) {}

TypeRef CelTypes::type_of(const Schema& schema, bool is_resource) {
  using Type = Schema::Type;
  if (schema.int_or_string) return cel::simple_type(TypeKind::Dyn);
  switch (schema.type) {
    case Type::Any:
    case Type::Unknown:
      return nullptr;
    case Type::Object:
      return object_of(schema, is_resource);
    case Type::Array: {
      const TypeRef item = schema.items ? type_of(*schema.items, schema.items->embedded) : nullptr;
      return item ? cel::list_type(item) : nullptr;
    }
    case Type::String:
      if (schema.format == "byte") return cel::simple_type(TypeKind::Bytes);
      if (schema.format == "duration") return cel::simple_type(TypeKind::Duration);
      if (schema.format == "date" || schema.format == "date-time")
        return cel::simple_type(TypeKind::Timestamp);
      return cel::simple_type(TypeKind::String);
    case Type::Integer:
      return cel::simple_type(TypeKind::Int);
    case Type::Number:
      return cel::simple_type(TypeKind::Double);
    case Type::Boolean:
      return cel::simple_type(TypeKind::Bool);
  }
  return nullptr;
}

TypeRef CelTypes::object_of(const Schema& schema, bool is_resource) {
  if (const auto found = made_.find(&schema); found != made_.end()) return found->second;
  if (schema.additional) {
    const TypeRef value = type_of(*schema.additional, schema.additional->embedded);
    TypeRef made = value ? cel::map_type(cel::simple_type(TypeKind::String), value) : nullptr;
    return made_[&schema] = std::move(made);
  }
  std::vector<cel::Field> fields;
  const auto add = [&](std::string_view name, const Schema& below) {
    const std::optional<std::string> identifier = escaped(name);
    TypeRef type = identifier ? type_of(below, below.embedded) : nullptr;
    if (!type) return;
    if (may_be_named_plainly(name)) fields.push_back({std::string(name), type});
    fields.push_back({*identifier, std::move(type)});
  };
  for (const Property& property : schema.properties) {
    const bool implied = is_resource && (property.name == "kind" || property.name == "apiVersion" ||
                                         property.name == "metadata");
    if (!implied) add(property.name, property.schema);
  }
  if (is_resource) {
    add("apiVersion", string_schema());
    add("kind", string_schema());
    add("metadata", name_schema());
  }
  const std::string name = "object" + std::to_string(made_.size());
  environment_.declare_object(name, std::move(fields));
  return made_[&schema] = cel::object_type(name);
}

const CelTypes::Sizes& CelTypes::sizes_of(const Schema& schema, bool is_resource) {
  const Sizes* sizes = made_sizes(schema, is_resource);
  BERTH_ASSERT(sizes, "only schemas with a type have sizes");
  return *sizes;
}

namespace {

std::uint64_t not_negative(std::int64_t value) {
  return value < 0 ? 0 : static_cast<std::uint64_t>(value);
}

// A code point has up to four bytes, and lengths are estimated in bytes.
constexpr std::uint64_t kBytesPerCodePoint = 4;
// JSON's quotes around a text, brackets around a container.
constexpr std::uint64_t kEndsBytes = 2;

std::uint64_t text_elements(const Schema& schema) {
  if (schema.length_max) return not_negative(*schema.length_max) * kBytesPerCodePoint;
  std::uint64_t longest = 0;
  for (const Json& choice : schema.choices)
    if (choice.is_string()) longest = std::max<std::uint64_t>(longest, choice.as_string().size());
  return schema.choices.empty() || schema.int_or_string ? kRequestBytesMax - kEndsBytes : longest;
}

// Elements, and the fewest bytes of JSON.
std::pair<std::uint64_t, std::uint64_t> text_sizes(const Schema& schema) {
  constexpr std::uint64_t kTimeMax = 32, kDate = 12, kDurationMin = 3, kTimeMin = 21;
  if (schema.format == "duration") return {kTimeMax, kDurationMin};
  if (schema.format == "date") return {kDate, kDate};
  if (schema.format == "date-time") return {kTimeMax, kTimeMin};
  if (schema.format == "byte")
    return {schema.length_max ? not_negative(*schema.length_max) : kRequestBytesMax - kEndsBytes, kEndsBytes};
  return {text_elements(schema), kEndsBytes};
}

}  // namespace

// Null like type_of().
const CelTypes::Sizes* CelTypes::made_sizes(const Schema& schema, bool is_resource) {
  using Type = Schema::Type;
  const auto [found, is_new] = sized_.try_emplace({&schema, is_resource}, nullptr);
  if (!is_new) return found->second;
  const Sizes*& made = found->second;
  if (schema.int_or_string) return made = &keep({{.elements = text_elements(schema)}, 1});
  switch (schema.type) {
    case Type::Any:
    case Type::Unknown:
      return nullptr;
    case Type::Object:
      if (!schema.additional) return made = &object_sizes(schema, is_resource);
      [[fallthrough]];
    case Type::Array: {
      const Schema* below = schema.type == Type::Array ? schema.items.get() : schema.additional.get();
      const Sizes* item = below ? made_sizes(*below, below->embedded) : nullptr;
      if (!item) return nullptr;
      // A comma; the quotes of a key, a colon and the shortest key too.
      const bool is_list = schema.type == Type::Array;
      const std::uint64_t around = is_list ? 1 : 6;
      const std::optional<std::int64_t>& most = is_list ? schema.items_max : schema.members_max;
      static const Sizes kKey{{}, kEndsBytes};
      Sizes sizes{{.elements = most ? not_negative(*most)
                                    : (kRequestBytesMax - kEndsBytes) / (item->least_bytes + around),
                   .key = is_list ? nullptr : &kKey,
                   .item = item},
                  kEndsBytes};
      return made = &keep(std::move(sizes));
    }
    case Type::String: {
      const auto [elements, least] = text_sizes(schema);
      return made = &keep({{.elements = elements}, least});
    }
    case Type::Boolean:
      return made = &keep({{}, 4});
    case Type::Integer:
    case Type::Number:
      return made = &keep({{}, 1});
  }
  return nullptr;
}

const CelTypes::Sizes& CelTypes::object_sizes(const Schema& schema, bool is_resource) {
  constexpr std::uint64_t kAroundMember = 4;
  const std::set<std::string_view> required(schema.required.begin(), schema.required.end());
  Sizes sizes{{}, kEndsBytes};
  const auto add = [&](std::string_view name, const Sizes* of_member, bool has_default) {
    if (!of_member) return;
    if (const std::optional<std::string> identifier = escaped(name)) sizes.fields[*identifier] = of_member;
    if (required.contains(name) && !has_default)
      sizes.least_bytes += name.size() + of_member->least_bytes + kAroundMember;
  };
  const bool implied = is_resource && !says_all_of_a_resource(schema);
  for (const Property& property : schema.properties)
    if (!implied || !is_resource_member(property.name))
      add(property.name, made_sizes(property.schema, property.schema.embedded),
          property.schema.fallback.has_value());
  if (!implied) return keep(std::move(sizes));
  constexpr std::uint64_t kNameBytes = 253;
  const Schema* metadata = schema.property("metadata");
  const auto name_sizes = [&](std::string_view name, std::uint64_t most) {
    const Schema* own = metadata ? metadata->property(name) : nullptr;
    if (own && own->length_max && *own->length_max < static_cast<std::int64_t>(most))
      most = not_negative(*own->length_max);
    return &keep({{.elements = most * kBytesPerCodePoint}, kEndsBytes});
  };
  Sizes of_metadata{{}, kEndsBytes};
  of_metadata.fields = {{"name", name_sizes("name", kNameBytes)},
                        {"generateName", name_sizes("generateName", kNameBytes - 1)}};
  const Sizes* text = &keep({{.elements = kRequestBytesMax - kEndsBytes}, kEndsBytes});
  add("kind", text, false);
  add("apiVersion", text, false);
  add("metadata", &keep(std::move(of_metadata)), false);
  return keep(std::move(sizes));
}

cel::Value cel_value(const Json& value, const Schema& schema, bool is_resource) {
  using Type = Schema::Type;
  if (value.is_null()) return Value();
  if (schema.int_or_string) {
    if (value.is_string()) return Value::borrow_string(value.as_string());
    return value.is_number() ? number_value(value, schema) : mismatch("an integer or a string");
  }
  switch (schema.type) {
    case Type::Object:
      if (!value.is_object()) return mismatch("a map");
      return Value::of_map(std::make_shared<JsonMap>(value, schema, is_resource));
    case Type::Array:
      if (!value.is_array()) return mismatch("a list");
      return Value::of_list(std::make_shared<JsonList>(value, schema));
    case Type::String:
      return value.is_string() ? text_value(value.as_string(), schema) : mismatch("a string");
    case Type::Integer:
    case Type::Number:
      return value.is_number() ? number_value(value, schema) : mismatch("a number");
    case Type::Boolean:
      return value.is_bool() ? Value::of_bool(value.as_bool()) : mismatch("a boolean");
    case Type::Any:
    case Type::Unknown:
      break;
  }
  return mismatch("a value with a schema");
}

}  // namespace berth::crd
