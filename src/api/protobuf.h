// Kubernetes' protobuf bodies read into canonical documents, through the type table.
//
// Typed clients send them for every built-in kind, and API servers answer with them. Pure, any thread. Cost:
// one pass, no schema compilation. Refuses truncated and malformed wire data; skips numbers that the table
// does not have, so a document from a newer server lacks the fields that this table does not know. Source:
// k8s.io/apimachinery runtime.Unknown; wire numbers from the Go types' tags.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/type_table.h"
#include "base/json.h"
#include "base/result.h"

namespace berth::api {

inline constexpr std::size_t kProtobufDepthMax = 200;
inline constexpr std::string_view kProtobufMediaType = "application/vnd.kubernetes.protobuf";

// Whether the bytes begin as such a body; no JSON text does.
bool is_protobuf(std::string_view body);

// What surrounds a message: which kind it is. Views into the body.
struct ProtobufEnvelope {
  std::string_view api_version;
  std::string_view kind;
  std::string_view message;
};

// The error is the reference's sentence when the prefix "k8s\0" is missing.
Result<ProtobufEnvelope> open_protobuf_envelope(std::string_view body);
// The body of this message.
std::string enclosed_in_envelope(const ProtobufEnvelope& envelope);
// A body whose message is appended between the two calls: `begin` is what the first returned.
std::size_t begin_envelope(std::string& out, std::string_view api_version, std::string_view kind);
void end_envelope(std::string& out, std::size_t begin);
// What is before and behind a message of this size.
std::string envelope_head(std::string_view api_version, std::string_view kind, std::size_t message_bytes);
std::string envelope_tail();

enum class ManagedFields : std::uint8_t { Decode, Skip };

// A canonical document (canonical.h) without kind and apiVersion: the envelope has them.
Result<Json> decode_protobuf(const TypeInfo& type, std::string_view message,
                             ManagedFields managed_fields = ManagedFields::Decode);
struct WireField;
// One member, from all its fields on the wire; null without any.
Result<Json> decode_protobuf_field(const FieldInfo& field, std::span<const WireField> values);
// With kind and apiVersion as the envelope says.
Result<Json> decode_enclosed(const TypeInfo& type, const ProtobufEnvelope& envelope,
                             ManagedFields managed_fields);
// The same of a whole body.
Result<Json> decode_protobuf_body(const TypeInfo& type, std::string_view body);

}  // namespace berth::api
