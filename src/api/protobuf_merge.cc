#include "api/protobuf_merge.h"

#include <vector>

#include "api/protobuf.h"
#include "api/protobuf_encode.h"
#include "api/protobuf_wire.h"
#include "api/type_table.h"

namespace berth::api {
namespace {

constexpr int kBitsPerByte = 8;
constexpr std::size_t kFixed32Bytes = 4;

void append_field(std::string& message, const WireField& field) {
  switch (field.type) {
    case WireType::Varint:
      return append_varint_field(message, field.number, field.scalar);
    case WireType::Fixed64:
      return append_fixed64_field(message, field.number, field.scalar);
    case WireType::Bytes:
      return append_bytes_field(message, field.number, field.bytes);
    case WireType::Fixed32:
      append_varint(message, (std::uint64_t{field.number} << 3) | static_cast<std::uint64_t>(field.type));
      for (std::size_t i = 0; i < kFixed32Bytes; ++i)
        message.push_back(static_cast<char>(field.scalar >> (i * kBitsPerByte)));
  }
}

Result<std::vector<WireField>> fields_of(std::string_view message) {
  std::vector<WireField> fields;
  for (WireReader reader(message); !reader.at_end();) fields.push_back(TRY(reader.next()));
  return fields;
}

// The type of a member that is one message; null for others.
const TypeInfo* part_type(const TypeInfo& type, std::uint32_t number) {
  const FieldInfo* field = type.field_by_number(number);
  const bool is_part = field && field->kind == ValueKind::Message && field->shape == Shape::One;
  return is_part ? &field->type() : nullptr;
}

Result<std::string> merged(const TypeInfo& type, std::string_view message, std::string_view addition) {
  std::vector<WireField> added = TRY(fields_of(addition));
  std::string out;
  out.reserve(message.size() + addition.size());
  for (const WireField& field : TRY(fields_of(message))) {
    const TypeInfo* part = field.type == WireType::Bytes ? part_type(type, field.number) : nullptr;
    const auto more = std::find_if(added.begin(), added.end(),
                                   [&](const WireField& one) { return part && one.number == field.number; });
    if (more == added.end()) {
      append_field(out, field);
      continue;
    }
    append_bytes_field(out, field.number, TRY(merged(*part, field.bytes, more->bytes)));
    added.erase(more);
  }
  for (const WireField& field : added) append_field(out, field);
  return out;
}

}  // namespace

Result<std::string> with_added(std::string_view body, Json addition) {
  ProtobufEnvelope envelope = TRY(open_protobuf_envelope(body));
  const TypeInfo* type = find_kind(envelope.api_version, envelope.kind);
  if (!type) return Error(ErrorCode::Unsupported, "the unknown kind " + std::string(envelope.kind));
  addition["apiVersion"] = envelope.api_version;
  addition["kind"] = envelope.kind;
  const std::string encoded = TRY(encode_protobuf_body(to_string(addition), Unnumbered::Refuse));
  const ProtobufEnvelope added = TRY(open_protobuf_envelope(encoded));
  const std::string message = TRY(merged(*type, envelope.message, added.message));
  envelope.message = message;
  return enclosed_in_envelope(envelope);
}

}  // namespace berth::api
