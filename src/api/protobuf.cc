#include "api/protobuf.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "api/canonical.h"
#include "api/protobuf_wire.h"
#include "base/base64.h"
#include "base/utf8.h"

namespace berth::api {
namespace {

constexpr std::string_view kPrefix{"k8s\0", 4};

Error malformed_object(std::string what) {
  return Error(ErrorCode::Invalid, "malformed protobuf: " + std::move(what));
}

Error wrong_wire_type(const FieldInfo& field) {
  return malformed_object(fmt::format("field {} has an unexpected wire type", field.json));
}

Result<Json> text_value(std::string_view bytes) {
  if (!is_utf8(bytes)) return malformed_object("a text is not UTF-8");
  return Json(bytes);
}

Result<Json> raw_json(std::string_view message) {
  const std::string_view text = TRY(wire_parts(message)).bytes[1];
  if (text.empty()) return Json();
  return parse_json(text);
}

Result<Json> time_value(const FieldInfo& field, std::string_view message) {
  if (message.empty()) return Json();
  if (field.kind == ValueKind::MicroTime)
    return Json(format_micro_time(TRY(wire_time(message, TimePrecision::Micros))));
  return Json(format_time(TRY(wire_time(message, TimePrecision::Seconds))));
}

Result<Json> int_or_string(std::string_view message) {
  const WireParts parts = TRY(wire_parts(message));
  if (parts.scalars[1] != 0) return text_value(parts.bytes[3]);
  return Json(static_cast<std::int64_t>(static_cast<std::int32_t>(parts.scalars[2])));
}

class ProtobufDecoder {
 public:
  explicit ProtobufDecoder(ManagedFields managed_fields) : managed_fields_(managed_fields) {}
  Result<Json> message(const TypeInfo& type, std::string_view bytes);
  Status append(const FieldInfo& field, const WireField& wire, Json& member);

 private:
  // Which of the messages that JSON has flattened the fields are in.
  struct Prefix {
    std::uint16_t numbers[2] = {};
    std::size_t length = 0;
    bool covers(const FieldInfo& field) const {
      return (length < 1 || field.embed[0] == numbers[0]) && (length < 2 || field.embed[1] == numbers[1]);
    }
    bool holds(const FieldInfo& field) const {
      return covers(field) && (length >= field.embed.size() || field.embed[length] == 0);
    }
    const FieldInfo* find(const TypeInfo& type, std::uint32_t number) const {
      if (length == 0) return type.field_by_number(number);
      return type.find_field(0,
                             [&](const FieldInfo& field) { return field.proto == number && holds(field); });
    }
  };

  Status fields(const TypeInfo& type, std::string_view bytes, Prefix prefix, Members& members);
  Status append_packed(const FieldInfo& field, std::string_view bytes, JsonArray& items);
  Status append_items(const FieldInfo& field, std::string_view bytes, JsonArray& items);
  Status append_entry(const FieldInfo& field, std::string_view bytes, Json& member);
  Result<Json> value(const FieldInfo& field, const WireField& wire);
  Result<Json> special(const FieldInfo& field, std::string_view bytes);
  Result<Json> schema_union(const FieldInfo& field, std::string_view bytes);

  bool is_skipped(const FieldInfo& field) const {
    return managed_fields_ == ManagedFields::Skip && field.json == "managedFields";
  }

  const ManagedFields managed_fields_;
  std::size_t depth_ = 0;
};

Result<Json> ProtobufDecoder::message(const TypeInfo& type, std::string_view bytes) {
  if (++depth_ > kProtobufDepthMax) return malformed_object("nested too deep");
  Members members(type.field_count);
  if (const Status read = fields(type, bytes, {}, members); !read) return read.error();
  --depth_;
  return assemble(type, std::move(members));
}

Status ProtobufDecoder::fields(const TypeInfo& type, std::string_view bytes, Prefix prefix,
                               Members& members) {
  const std::span<const FieldInfo> all = type.fields();
  WireReader reader(bytes);
  while (!reader.at_end()) {
    WireField wire;
    if (!reader.next_usual(wire)) wire = TRY(reader.next());
    if (const FieldInfo* direct = prefix.find(type, wire.number)) {
      if (is_skipped(*direct)) continue;
      Json& member = members[static_cast<std::size_t>(direct - all.data())];
      if (const Status read = append(*direct, wire, member); !read) return read;
      continue;
    }
    const bool embedded = prefix.length < 2 && wire.type == WireType::Bytes &&
                          std::any_of(
                              all.begin(), all.end(),
                              [&](const FieldInfo& field) {
                                return prefix.covers(field) && field.embed[prefix.length] == wire.number;
                              });
    if (!embedded) continue;
    Prefix inner = prefix;
    inner.numbers[inner.length++] = static_cast<std::uint16_t>(wire.number);
    if (const Status read = fields(type, wire.bytes, inner, members); !read) return read;
  }
  return {};
}

Status ProtobufDecoder::append(const FieldInfo& field, const WireField& wire, Json& member) {
  if (field.shape == Shape::One) {
    member = TRY(value(field, wire));
    // An empty struct behind a pointer is there; only a time may be null.
    return {};
  }
  if (field.shape != Shape::List) {
    if (wire.type != WireType::Bytes) return wrong_wire_type(field);
    return append_entry(field, wire.bytes, member);
  }
  if (!member.is_array()) member = Json(JsonArray());
  JsonArray& items = member.as_array();
  if (field.is(kItemsMessage)) return append_items(field, wire.bytes, items);
  const bool number =
      field.kind == ValueKind::Int32 || field.kind == ValueKind::Int64 || field.kind == ValueKind::Bool;
  if (number && wire.type == WireType::Bytes) return append_packed(field, wire.bytes, items);
  items.push_back(TRY(value(field, wire)));
  return {};
}

Status ProtobufDecoder::append_packed(const FieldInfo& field, std::string_view bytes, JsonArray& items) {
  WireReader reader(bytes);
  while (!reader.at_end()) {
    const WireField element{0, WireType::Varint, TRY(reader.varint()), {}};
    items.push_back(TRY(value(field, element)));
  }
  return {};
}

// A list in a message of its own: field 1, repeated.
Status ProtobufDecoder::append_items(const FieldInfo& field, std::string_view bytes, JsonArray& items) {
  WireReader reader(bytes);
  while (!reader.at_end()) {
    const WireField element = TRY(reader.next());
    if (element.number == 1) items.push_back(TRY(value(field, element)));
  }
  return {};
}

// A map's entry: key 1, value 2. Members stay sorted by key.
Status ProtobufDecoder::append_entry(const FieldInfo& field, std::string_view bytes, Json& member) {
  std::string key;
  Json entry = field.shape == Shape::Map ? zero_of(field) : Json(JsonArray());
  WireReader reader(bytes);
  while (!reader.at_end()) {
    const WireField part = TRY(reader.next());
    if (part.number == 1) {
      key = TRY(text_value(part.bytes)).as_string();
    } else if (part.number == 2 && field.shape == Shape::MapOfLists) {
      if (const Status read = append_items(field, part.bytes, entry.as_array()); !read) return read;
    } else if (part.number == 2) {
      entry = TRY(value(field, part));
    }
  }
  member[key] = std::move(entry);
  return {};
}

Result<Json> ProtobufDecoder::value(const FieldInfo& field, const WireField& wire) {
  switch (field.kind) {
    case ValueKind::Bool:
      if (wire.type != WireType::Varint) return wrong_wire_type(field);
      return Json(wire.scalar != 0);
    case ValueKind::Int32:
      if (wire.type != WireType::Varint) return wrong_wire_type(field);
      return Json(static_cast<std::int64_t>(static_cast<std::int32_t>(wire.scalar)));
    case ValueKind::Int64:
      if (wire.type != WireType::Varint) return wrong_wire_type(field);
      return Json(static_cast<std::int64_t>(wire.scalar));
    case ValueKind::Double: {
      if (wire.type != WireType::Fixed64) return wrong_wire_type(field);
      const double number = std::bit_cast<double>(wire.scalar);
      constexpr double kExact = 9007199254740992.0;
      const bool whole = number > -kExact && number < kExact &&
                         static_cast<double>(static_cast<std::int64_t>(number)) == number;
      return whole ? Json(static_cast<std::int64_t>(number)) : Json(number);
    }
    default:
      break;
  }
  if (wire.type != WireType::Bytes) return wrong_wire_type(field);
  return special(field, wire.bytes);
}

Result<Json> ProtobufDecoder::special(const FieldInfo& field, std::string_view bytes) {
  switch (field.kind) {
    case ValueKind::String:
      return text_value(bytes);
    case ValueKind::Bytes:
      return Json(base64_encode(bytes));
    case ValueKind::Quantity:
      return Json(TRY(canonical_quantity(TRY(wire_parts(bytes)).bytes[1])));
    case ValueKind::Time:
    case ValueKind::MicroTime:
      return time_value(field, bytes);
    case ValueKind::Duration: {
      constexpr std::int64_t kNanosPerMicro = 1000;
      return Json(duration_text(
          Duration::micros(static_cast<std::int64_t>(TRY(wire_parts(bytes)).scalars[1]) / kNanosPerMicro)));
    }
    case ValueKind::IntOrString:
      return int_or_string(bytes);
    case ValueKind::RawJson:
    case ValueKind::FieldsV1:
      return raw_json(bytes);
    case ValueKind::SchemaOrArray:
    case ValueKind::SchemaOrBool:
    case ValueKind::SchemaOrStrings:
      return schema_union(field, bytes);
    default:
      return message(field.type(), bytes);
  }
}

Result<Json> ProtobufDecoder::schema_union(const FieldInfo& field, std::string_view bytes) {
  const std::uint32_t schema_number = field.kind == ValueKind::SchemaOrBool ? 2 : 1;
  Json made = field.kind == ValueKind::SchemaOrBool ? Json(false) : Json(JsonArray());
  WireReader reader(bytes);
  while (!reader.at_end()) {
    const WireField part = TRY(reader.next());
    if (part.number == schema_number) return message(field.type(), part.bytes);
    if (field.kind == ValueKind::SchemaOrBool)
      made = Json(part.scalar != 0);
    else if (field.kind == ValueKind::SchemaOrStrings)
      made.as_array().push_back(TRY(text_value(part.bytes)));
    else
      made.as_array().push_back(TRY(message(field.type(), part.bytes)));
  }
  return made;
}

}  // namespace

bool is_protobuf(std::string_view body) {
  return body.starts_with(kPrefix);
}

Result<ProtobufEnvelope> open_protobuf_envelope(std::string_view body) {
  if (!is_protobuf(body))
    return Error(ErrorCode::Invalid,
                 "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  ProtobufEnvelope envelope;
  WireReader reader(body.substr(kPrefix.size()));
  while (!reader.at_end()) {
    const WireField field = TRY(reader.next());
    if (field.number == 1) {
      const WireParts type_meta = TRY(wire_parts(field.bytes));
      envelope.api_version = type_meta.bytes[1];
      envelope.kind = type_meta.bytes[2];
    } else if (field.number == 2) {
      envelope.message = field.bytes;
    } else if (field.number == 3 && !field.bytes.empty()) {
      return Error(ErrorCode::Unsupported, "protobuf bodies with a content encoding are not read");
    }
  }
  return envelope;
}

std::size_t begin_envelope(std::string& out, std::string_view api_version, std::string_view kind) {
  out += kPrefix;
  const std::size_t type_meta = begin_bytes_field(out, 1);
  append_bytes_field(out, 1, api_version);
  append_bytes_field(out, 2, kind);
  end_bytes_field(out, type_meta);
  return begin_bytes_field(out, 2);
}

void end_envelope(std::string& out, std::size_t begin) {
  end_bytes_field(out, begin);
  out += envelope_tail();
}

std::string envelope_head(std::string_view api_version, std::string_view kind, std::size_t message_bytes) {
  std::string head;
  begin_envelope(head, api_version, kind);
  head.pop_back();  // the length of an empty message
  append_varint(head, message_bytes);
  return head;
}

// Go writes contentEncoding and contentType although they are empty.
std::string envelope_tail() {
  std::string tail;
  append_bytes_field(tail, 3, {});
  append_bytes_field(tail, 4, {});
  return tail;
}

std::string enclosed_in_envelope(const ProtobufEnvelope& envelope) {
  constexpr std::size_t kAroundMax = 40;  // tags, lengths and empty fields
  std::string body;
  body.reserve(envelope.api_version.size() + envelope.kind.size() + envelope.message.size() + kAroundMax);
  const std::size_t begin = begin_envelope(body, envelope.api_version, envelope.kind);
  body += envelope.message;
  end_envelope(body, begin);
  return body;
}

Result<Json> decode_protobuf(const TypeInfo& type, std::string_view message, ManagedFields managed_fields) {
  return ProtobufDecoder(managed_fields).message(type, message);
}

Result<Json> decode_protobuf_field(const FieldInfo& field, std::span<const WireField> values) {
  Json member;
  ProtobufDecoder decoder(ManagedFields::Decode);
  for (const WireField& value : values)
    if (const Status read = decoder.append(field, value, member); !read) return read.error();
  return member;
}

Result<Json> decode_enclosed(const TypeInfo& type, const ProtobufEnvelope& envelope,
                             ManagedFields managed_fields) {
  Json document = TRY(decode_protobuf(type, envelope.message, managed_fields));
  Json whole = Json::object();
  whole.as_object().reserve(document.as_object().size() + 2);
  if (!envelope.kind.empty()) whole["kind"] = TRY(text_value(envelope.kind));
  if (!envelope.api_version.empty()) whole["apiVersion"] = TRY(text_value(envelope.api_version));
  for (JsonMember& member : document.as_object())
    whole.as_object().append(std::move(member.key), std::move(member.value));
  return whole;
}

Result<Json> decode_protobuf_body(const TypeInfo& type, std::string_view body) {
  return decode_enclosed(type, TRY(open_protobuf_envelope(body)), ManagedFields::Decode);
}

}  // namespace berth::api
