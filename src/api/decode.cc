#include "api/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "api/canonical.h"
#include "api/decode_syntax.h"

namespace berth::api {
namespace {

// The position of a value, linked to its parents: rendered only for errors.
struct PathNode {
  const PathNode* outer = nullptr;
  std::string_view member = {};  // or
  std::size_t index = 0;         // of a list, when `member` has no data
  const FieldInfo* field = nullptr;

  // "spec.containers[0].image"
  std::string path() const {
    if (!outer) return {};
    std::string text = outer->path();
    if (member.data() == nullptr) return text + "[" + std::to_string(index) + "]";
    return text.empty() ? std::string(member) : text + "." + std::string(member);
  }
  // Go's decoder names struct fields only: "spec.containers.image".
  std::string fields() const {
    if (!outer) return {};
    std::string text = outer->fields();
    if (!field) return text;
    return text.empty() ? std::string(field->json) : text + "." + std::string(field->json);
  }
};

// "[]v1.Container" holds "v1.Container", "map[string]string" holds "string".
std::string_view element_type(std::string_view go_type) {
  if (go_type.starts_with("[]"))
    go_type.remove_prefix(2);
  else if (go_type.starts_with("map["))
    go_type.remove_prefix(go_type.find(']') + 1);
  else
    return "string";
  if (go_type.starts_with('*')) go_type.remove_prefix(1);
  return go_type;
}

// The items of an array that is rebuilt: references into the old one would prevent the new one from being
// shared.
JsonArray taken(Json& array) {
  JsonArray items = std::move(array.as_array());
  array = Json();
  return items;
}

const Json& item_at(const Json& list, std::size_t index) {
  static const Json kNone;
  return list.is_array() && index < list.as_array().size() ? list.as_array()[index] : kNone;
}

// Moves the members out. Of members with equal names the last one wins.
Json sorted_by_key(JsonObject& object) {
  std::vector<JsonMember*> sorted;
  sorted.reserve(object.size());
  for (JsonMember& given : object) sorted.push_back(&given);
  // Members with equal names keep their order (by address).
  std::sort(sorted.begin(), sorted.end(), [](const JsonMember* a, const JsonMember* b) {
    const int order = a->key.compare(b->key);
    return order < 0 || (order == 0 && a < b);
  });
  JsonObject out;
  out.reserve(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (i + 1 == sorted.size() || sorted[i + 1]->key != sorted[i]->key)
      out.append(std::move(sorted[i]->key), std::move(sorted[i]->value));
  return Json(std::move(out));
}

class Decoder {
 public:
  // Makes `value` the canonical form of a message. `value` is an object. `known` is canonical, or null.
  Status message(const TypeInfo& type, Json& value, const Json& known, const PathNode& at);
  std::vector<std::string> take_strict_errors() { return std::move(strict_errors_); }
  std::vector<std::string> take_empty_lists() { return std::move(empty_lists_); }

 private:
  // The innermost struct and the value's declared type, for the text of Go's decoder.
  struct Target {
    const TypeInfo& owner;
    std::string_view go_type;
  };

  Status member(const TypeInfo& owner, const FieldInfo& field, Json& value, const Json& known,
                const PathNode& at);
  Status list(const FieldInfo& field, Target target, Json& value, const Json& known, const PathNode& at);
  Status map(const FieldInfo& field, Target target, Json& value, const Json& known, const PathNode& at);
  Status one(const FieldInfo& field, Target target, Json& value, const Json& known, const PathNode& at);
  Status integer(const FieldInfo& field, Target target, Json& value, const PathNode& at);
  Status number(Target target, Json& value, const PathNode& at);
  Status text(const FieldInfo& field, Target target, Json& value, const PathNode& at);
  Status int_or_string(Json& value, const PathNode& at);
  Status schema_union(const FieldInfo& field, Target target, Json& value, const Json& known,
                      const PathNode& at);

  void strict(std::string_view what, const PathNode& at) {
    if (strict_errors_.size() >= kStrictErrorsMax) return;
    std::string text = fmt::format("{} field \"{}\"", what, at.path());
    if (seen_.insert(text).second) strict_errors_.push_back(std::move(text));
  }

  static Error wrong_type(std::string_view got, Target target, const PathNode& at) {
    return Error(ErrorCode::Invalid, at.path(),
                 fmt::format("json: cannot unmarshal {} into Go struct field {}.{} of type {}", got,
                             target.owner.name, at.fields(), target.go_type));
  }
  // Inside a type with its own unmarshaller the decoder knows no field.
  static Error wrong_inner_type(std::string_view got, std::string_view go_type, const PathNode& at) {
    return Error(ErrorCode::Invalid, at.path(),
                 fmt::format("json: cannot unmarshal {} into Go value of type {}", got, go_type));
  }
  static Error at_place(const Error& error, const PathNode& at) {
    return Error(ErrorCode::Invalid, at.path(), error.message());
  }

  std::vector<std::string> strict_errors_;
  std::vector<std::string> empty_lists_;
  std::set<std::string> seen_;
};

Status Decoder::message(const TypeInfo& type, Json& value, const Json& known, const PathNode& at) {
  if (value.shares_with(known)) return {};
  const std::span<const FieldInfo> fields = type.fields();
  Members members(fields.size());
  std::vector<bool> seen(fields.size());
  std::size_t hint = 0;
  for (JsonMember& given : value.as_object()) {
    const FieldInfo* field = type.field_by_json(given.key, hint);
    const PathNode inner{&at, given.key, 0, field};
    if (!field) {
      strict("unknown", inner);
      continue;
    }
    const auto position = static_cast<std::size_t>(field - fields.data());
    hint = position + 1;
    if (seen[position]) strict("duplicate", inner);
    seen[position] = true;
    if (given.value.is_null()) continue;
    TRY(member(type, *field, given.value, known.part(given.key), inner));
    members[position] = std::move(given.value);
  }
  value = assemble(type, std::move(members));
  return {};
}

Status Decoder::member(const TypeInfo& owner, const FieldInfo& field, Json& value, const Json& known,
                       const PathNode& at) {
  const Target target{owner, field.go_type};
  switch (field.shape) {
    case Shape::One:
      return one(field, target, value, known, at);
    case Shape::List:
      return list(field, target, value, known, at);
    case Shape::Map:
    case Shape::MapOfLists:
      return map(field, target, value, known, at);
  }
  return {};
}

Status Decoder::list(const FieldInfo& field, Target target, Json& value, const Json& known,
                     const PathNode& at) {
  if (!value.is_array()) return wrong_type(go_word(value), target, at);
  if (value.shares_with(known)) return {};
  JsonArray items = taken(value);
  const bool vanishes = items.empty() && field.is(kOmitEmpty);
  if (vanishes && empty_lists_.size() < kEmptyListsMax) empty_lists_.push_back(at.path());
  const Target element{target.owner, element_type(target.go_type)};
  for (std::size_t i = 0; i < items.size(); ++i) {
    const PathNode inner{&at, {}, i, nullptr};
    if (items[i].is_null())
      items[i] = zero_of(field);
    else
      TRY(one(field, element, items[i], item_at(known, i), inner));
  }
  value = Json(std::move(items));
  return {};
}

Status Decoder::map(const FieldInfo& field, Target target, Json& value, const Json& known,
                    const PathNode& at) {
  if (!value.is_object()) return wrong_type(go_word(value), target, at);
  if (value.shares_with(known)) return {};
  const Target element{target.owner, element_type(target.go_type)};
  std::set<std::string_view> keys;
  for (JsonMember& given : value.as_object()) {
    const PathNode inner{&at, given.key, 0, nullptr};
    const Json& known_part = known.part(given.key);
    if (!keys.insert(given.key).second) strict("duplicate", inner);
    if (given.value.is_null())
      given.value = field.shape == Shape::Map ? zero_of(field) : Json();
    else if (field.shape == Shape::MapOfLists)
      TRY(list(field, element, given.value, known_part, inner));
    else
      TRY(one(field, element, given.value, known_part, inner));
  }
  value = sorted_by_key(value.as_object());
  return {};
}

Status Decoder::one(const FieldInfo& field, Target target, Json& value, const Json& known,
                    const PathNode& at) {
  switch (field.kind) {
    case ValueKind::Bool:
      if (!value.is_bool()) return wrong_type(go_word(value), target, at);
      return {};
    case ValueKind::Int32:
    case ValueKind::Int64:
      return integer(field, target, value, at);
    case ValueKind::Double:
      return number(target, value, at);
    case ValueKind::RawJson:
    case ValueKind::FieldsV1:
      return {};
    case ValueKind::IntOrString:
      return int_or_string(value, at);
    case ValueKind::Message:
      if (!value.is_object()) return wrong_type(go_word(value), target, at);
      return message(field.type(), value, known, at);
    case ValueKind::SchemaOrArray:
    case ValueKind::SchemaOrBool:
    case ValueKind::SchemaOrStrings:
      return schema_union(field, target, value, known, at);
    default:
      return text(field, target, value, at);
  }
}

Status Decoder::integer(const FieldInfo& field, Target target, Json& value, const PathNode& at) {
  if (!value.is_number()) return wrong_type(go_word(value), target, at);
  constexpr std::int64_t kLow = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t kHigh = std::numeric_limits<std::int32_t>::max();
  const bool fits = value.is_int() &&
                    (field.kind == ValueKind::Int64 || (value.as_int() >= kLow && value.as_int() <= kHigh));
  if (!fits) return wrong_type("number " + to_string(value), target, at);
  return {};
}

Status Decoder::number(Target target, Json& value, const PathNode& at) {
  if (!value.is_number()) return wrong_type(go_word(value), target, at);
  constexpr double kExact = 9007199254740992.0;
  if (value.is_double() && std::abs(value.as_double()) < kExact &&
      std::trunc(value.as_double()) == value.as_double())
    value = Json(static_cast<std::int64_t>(value.as_double()));
  return {};
}

Status Decoder::int_or_string(Json& value, const PathNode& at) {
  if (value.is_string()) return {};
  if (!value.is_number()) return wrong_inner_type(go_word(value), "int32", at);
  if (!value.is_int() || value.as_int() != static_cast<std::int32_t>(value.as_int()))
    return wrong_inner_type("number " + to_string(value), "int32", at);
  return {};
}

// Go's decoder of quantities ignores spaces around them.
std::string_view without_spaces(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n\v\f";
  const std::size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

Status Decoder::text(const FieldInfo& field, Target target, Json& value, const PathNode& at) {
  // Go also reads a quantity from the bare text of a number.
  if (field.kind == ValueKind::Quantity && value.is_number()) value = Json(to_string(value));
  if (!value.is_string()) {
    const bool plain = field.kind == ValueKind::String || field.kind == ValueKind::Bytes;
    if (plain) return wrong_type(go_word(value), target, at);
    if (field.kind == ValueKind::Quantity) return at_place(canonical_quantity("{").error(), at);
    return wrong_inner_type(go_word(value), "string", at);
  }
  const std::string& given = value.as_string();
  Result<std::string> canonical = std::string();
  switch (field.kind) {
    case ValueKind::Quantity:
      canonical = canonical_quantity(without_spaces(given));
      break;
    case ValueKind::Time:
      canonical = canonical_time(given);
      break;
    case ValueKind::MicroTime:
      canonical = canonical_micro_time(given);
      break;
    case ValueKind::Duration:
      canonical = canonical_duration(given);
      break;
    case ValueKind::Bytes:
      canonical = canonical_base64(given);
      break;
    default:
      return {};
  }
  if (!canonical) return at_place(canonical.error(), at);
  value = Json(*std::move(canonical));
  return {};
}

Status Decoder::schema_union(const FieldInfo& field, Target target, Json& value, const Json& known,
                             const PathNode& at) {
  if (value.is_object()) return message(field.type(), value, known, at);
  if (field.kind == ValueKind::SchemaOrBool) {
    if (value.is_bool()) return {};
    return Error(ErrorCode::Invalid, at.path(), "boolean or JSON schema expected");
  }
  if (!value.is_array()) return wrong_type(go_word(value), target, at);
  std::size_t index = 0;
  for (Json& item : value.as_array()) {
    const PathNode inner{&at, {}, index++, nullptr};
    if (field.kind == ValueKind::SchemaOrStrings) {
      if (!item.is_string()) return wrong_inner_type(go_word(item), "string", inner);
    } else if (!item.is_object()) {
      return wrong_inner_type(go_word(item), "v1.JSONSchemaProps", inner);
    } else {
      TRY(message(field.type(), item, Json(), inner));
    }
  }
  return {};
}

// The parser keeps only a number's value; the reference quotes the number as written.
Error with_number_as_written(const Error& error, std::string_view text) {
  constexpr std::string_view kHead = "json: cannot unmarshal number ";
  const std::string& message = error.message();
  if (!message.starts_with(kHead) || message.compare(kHead.size(), 5, "into ") == 0) return error;
  const std::string_view raw = raw_number_at(text, error.path());
  const std::size_t end = message.find(' ', kHead.size());
  if (raw.empty() || end == std::string::npos) return error;
  return Error(error.code(), error.path(), fmt::format("{}{}{}", kHead, raw, message.substr(end)));
}

}  // namespace

std::string_view go_word(const Json& value) {
  if (value.is_bool()) return "bool";
  if (value.is_string()) return "string";
  if (value.is_array()) return "array";
  return value.is_object() ? "object" : "number";
}

Result<Decoded> decode_document(const TypeInfo& type, Json document, const Json& canonical) {
  if (document.is_null()) document = Json::object();
  if (!document.is_object())
    return Error(ErrorCode::Invalid, fmt::format("json: cannot unmarshal {} into Go value of type {}.{}",
                                                 go_word(document), type.version, type.name));
  Decoder decoder;
  TRY(decoder.message(type, document, canonical, PathNode{}));
  return Decoded{std::move(document), decoder.take_strict_errors(), decoder.take_empty_lists()};
}

Result<Decoded> decode_json(const TypeInfo& type, std::string_view text) {
  Result<Json> parsed = parse_json(text);
  if (!parsed) {
    const std::string reason = json_syntax_error(text);
    if (!reason.empty()) return Error(ErrorCode::Invalid, reason);
    parsed = parse_json(with_long_integers_as_doubles(text));
    if (!parsed) return parsed.error();
  }
  Result<Decoded> decoded = decode_document(type, *std::move(parsed));
  return decoded ? std::move(decoded) : Result<Decoded>(with_number_as_written(decoded.error(), text));
}

std::string strict_error_text(const std::vector<std::string>& strict_errors) {
  return "strict decoding error: " + fmt::format("{}", fmt::join(strict_errors, ", "));
}

}  // namespace berth::api
