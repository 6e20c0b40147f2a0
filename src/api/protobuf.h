// Kubernetes' protobuf bodies read into canonical documents, through the type table.
//
// Typed clients send them for every built-in kind; answers stay JSON. Pure, any thread. Cost: one pass, no
// schema compilation. Refuses truncated and malformed wire data; skips numbers that the table does not have.
// Source: k8s.io/apimachinery runtime.Unknown; wire numbers from the Go types' tags.
#pragma once

#include <string>
#include <string_view>

#include "api/type_table.h"
#include "base/json.h"
#include "base/result.h"

namespace berth::api {

inline constexpr std::size_t kProtobufDepthMax = 200;

// What surrounds a message: which kind it is. Views into the body.
struct ProtobufEnvelope {
  std::string_view api_version;
  std::string_view kind;
  std::string_view message;
};

// The error is the reference's sentence when the prefix "k8s\0" is missing.
Result<ProtobufEnvelope> open_protobuf_envelope(std::string_view body);
// A canonical document (canonical.h) without kind and apiVersion: the envelope has them.
Result<Json> decode_protobuf(const TypeInfo& type, std::string_view message);
// Both, with kind and apiVersion as the envelope says.
Result<Json> decode_protobuf_body(const TypeInfo& type, std::string_view body);

}  // namespace berth::api
