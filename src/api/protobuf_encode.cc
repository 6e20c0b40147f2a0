#include "api/protobuf_encode.h"

#include <algorithm>
#include <bit>
#include <span>

#include "api/protobuf.h"
#include "api/protobuf_wire.h"
#include "api/type_table.h"
#include "base/base64.h"
#include "base/time.h"

namespace berth::api {
namespace {

constexpr std::int64_t kMicrosPerSecond = 1'000'000;
constexpr std::int64_t kNanosPerMicro = 1000;

Error unwritable(const FieldInfo& field, std::string why) {
  return Error(ErrorCode::Unsupported, std::string(field.json), std::move(why));
}

// Which of the messages that JSON has flattened is written.
struct Embedding {
  std::span<const std::uint16_t> numbers;
  bool covers(const FieldInfo& field) const {
    return std::equal(numbers.begin(), numbers.end(), field.embed.begin());
  }
  // The number of the next message inside that holds the field; 0 when it stands in this one.
  std::uint16_t inside(const FieldInfo& field) const {
    return numbers.size() < field.embed.size() ? field.embed[numbers.size()] : std::uint16_t{0};
  }
};

class Encoder {
 public:
  Result<std::string> message(const TypeInfo& type, const Json& document);

 private:
  Status fields(const TypeInfo& type, const Json& document, Embedding embedding, std::string& out);
  Status member(const FieldInfo& field, const Json& value, std::string& out);
  Status items(const FieldInfo& field, std::uint32_t number, const Json& list, std::string& out);
  Status entries(const FieldInfo& field, const Json& map, std::string& out);
  Status value(const FieldInfo& field, std::uint32_t number, const Json& value, std::string& out);
  Result<std::string> bytes(const FieldInfo& field, const Json& value);

  std::size_t depth_ = 0;
};

Result<std::string> Encoder::message(const TypeInfo& type, const Json& document) {
  if (!document.is_object()) return Error(ErrorCode::Unsupported, "it is no object");
  if (++depth_ > kProtobufDepthMax) return Error(ErrorCode::TooLarge, "nested too deep");
  std::size_t hint = 0;
  for (const JsonMember& given : document.as_object()) {
    const FieldInfo* field = type.field_by_json(given.key, hint);
    if (!field || field->proto == 0)
      return Error(ErrorCode::Unsupported, given.key, "it is not in the type table");
    hint = static_cast<std::size_t>(field - type.fields().data()) + 1;
  }
  std::string out;
  TRY(fields(type, document, {}, out));
  --depth_;
  return out;
}

Status Encoder::fields(const TypeInfo& type, const Json& document, Embedding embedding, std::string& out) {
  std::uint16_t written = 0;  // embedded messages are neighbours in the table
  for (const FieldInfo& field : type.fields()) {
    if (!embedding.covers(field)) continue;
    const std::uint16_t inside = embedding.inside(field);
    if (inside == 0) {
      const Json* given = document.find(field.json);
      if (!given || given->is_null()) continue;
      TRY(member(field, *given, out));
    } else if (inside != written) {
      written = inside;
      std::string embedded;
      const std::span<const std::uint16_t> numbers(field.embed.data(), embedding.numbers.size() + 1);
      TRY(fields(type, document, {numbers}, embedded));
      append_bytes_field(out, inside, embedded);
    }
  }
  return {};
}

Status Encoder::member(const FieldInfo& field, const Json& given, std::string& out) {
  if (field.shape == Shape::One) return value(field, field.proto, given, out);
  if (field.shape != Shape::List) return entries(field, given, out);
  if (!field.is(kItemsMessage)) return items(field, field.proto, given, out);
  std::string wrapped;
  TRY(items(field, 1, given, wrapped));
  append_bytes_field(out, field.proto, wrapped);
  return {};
}

Status Encoder::items(const FieldInfo& field, std::uint32_t number, const Json& list, std::string& out) {
  if (!list.is_array()) return unwritable(field, "it is no list");
  for (const Json& item : list.as_array()) TRY(value(field, number, item, out));
  return {};
}

Status Encoder::entries(const FieldInfo& field, const Json& map, std::string& out) {
  if (!map.is_object()) return unwritable(field, "it is no map");
  for (const JsonMember& given : map.as_object()) {
    std::string entry;
    append_bytes_field(entry, 1, given.key);
    if (field.shape == Shape::Map) {
      TRY(value(field, 2, given.value, entry));
    } else {
      std::string list;
      TRY(items(field, 1, given.value, list));
      append_bytes_field(entry, 2, list);
    }
    append_bytes_field(out, field.proto, entry);
  }
  return {};
}

Status Encoder::value(const FieldInfo& field, std::uint32_t number, const Json& given, std::string& out) {
  switch (field.kind) {
    case ValueKind::Bool:
      if (!given.is_bool()) return unwritable(field, "it is no boolean");
      append_varint_field(out, number, given.as_bool() ? 1 : 0);
      return {};
    case ValueKind::Int32:
    case ValueKind::Int64:
      if (!given.is_int()) return unwritable(field, "it is no integer");
      append_varint_field(out, number, static_cast<std::uint64_t>(given.as_int()));
      return {};
    case ValueKind::Double:
      if (!given.is_number()) return unwritable(field, "it is no number");
      append_fixed64_field(out, number, std::bit_cast<std::uint64_t>(given.as_double()));
      return {};
    default:
      append_bytes_field(out, number, TRY(bytes(field, given)));
      return {};
  }
}

std::string text_message(std::string_view text) {
  std::string message;
  append_bytes_field(message, 1, text);
  return message;
}

std::string time_message(Time time) {
  const std::int64_t micros = time.micros();
  std::int64_t seconds = micros / kMicrosPerSecond, rest = micros % kMicrosPerSecond;
  if (rest < 0) --seconds, rest += kMicrosPerSecond;
  std::string message;
  append_varint_field(message, 1, static_cast<std::uint64_t>(seconds));
  append_varint_field(message, 2, static_cast<std::uint64_t>(rest * kNanosPerMicro));
  return message;
}

std::string int_or_string(const Json& given) {
  std::string message;
  append_varint_field(message, 1, given.is_string() ? 1 : 0);
  append_varint_field(message, 2, given.is_int() ? static_cast<std::uint64_t>(given.as_int()) : 0);
  append_bytes_field(message, 3,
                     given.is_string() ? std::string_view(given.as_string()) : std::string_view());
  return message;
}

Result<std::string> Encoder::bytes(const FieldInfo& field, const Json& given) {
  switch (field.kind) {
    case ValueKind::Message:
      return message(field.type(), given);
    case ValueKind::SchemaOrArray:
    case ValueKind::SchemaOrBool:
    case ValueKind::SchemaOrStrings:
      return unwritable(field, "unions of schemas are not written");
    case ValueKind::RawJson:
    case ValueKind::FieldsV1:
      return text_message(to_string(given));
    case ValueKind::IntOrString:
      if (!given.is_string() && !given.is_int()) return unwritable(field, "it is neither integer nor string");
      return int_or_string(given);
    default:
      break;
  }
  if (!given.is_string()) return unwritable(field, "it is no string");
  switch (field.kind) {
    case ValueKind::Bytes:
      return base64_decode(given.as_string());
    case ValueKind::Quantity:
      return text_message(given.as_string());
    case ValueKind::Time:
    case ValueKind::MicroTime:
      return time_message(TRY(parse_time(given.as_string())));
    case ValueKind::Duration: {
      std::string nanos;
      const Duration duration = TRY(parse_duration(given.as_string()));
      append_varint_field(nanos, 1, static_cast<std::uint64_t>(duration.micros() * kNanosPerMicro));
      return nanos;
    }
    default:
      return given.as_string();
  }
}

}  // namespace

Result<std::string> encode_protobuf_body(const Json& document) {
  const std::string_view api_version = document.string_at("apiVersion"), kind = document.string_at("kind");
  const TypeInfo* type = find_kind(api_version, kind);
  if (!type) return Error(ErrorCode::Unsupported, "kind", "it is not in the type table");
  Json without_type = document;
  without_type.as_object().erase_if(
      [](const JsonMember& member) { return member.key == "apiVersion" || member.key == "kind"; });
  const std::string message = TRY(Encoder().message(*type, without_type));
  return enclosed_in_envelope({api_version, kind, message});
}

}  // namespace berth::api
