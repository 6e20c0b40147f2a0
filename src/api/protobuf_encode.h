// Objects written as Kubernetes' protobuf bodies, through the type table: the way back of protobuf.h.
//
// Pure, any thread. From JSON text, without a document between: one pass; the memory of a thread's parser
// stays. Absent members are not written (Go writes zeros, which read the same), members keep their order.
// Source: as protobuf.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/type_table.h"
#include "base/result.h"

namespace berth::api {

// What becomes of members that the type table lacks or that have no number there.
enum class Unnumbered : std::uint8_t { Refuse, LeaveOut };

// What a body says it is, and the type of its message.
struct ProtobufKind {
  std::string api_version;
  std::string kind;
  const TypeInfo* type;
};

// The body of an object or a request such as a Binding, whose text says its kind and apiVersion. It need not
// be canonical. Refuses with the member's name: kinds that the type table lacks, values of another type than
// it says. What it refuses is sent as JSON.
Result<std::string> encode_protobuf_body(std::string_view json, Unnumbered unnumbered);

// Appends the text's object as a body of `kind`, whatever kind and apiVersion the text says.
// Members without a number are left out.
Status append_protobuf_body(std::string& out, const ProtobufKind& kind, std::string_view json);
// Appends it as one field of a message, in the same way.
Status append_protobuf_field(std::string& out, std::uint32_t number, const TypeInfo& type,
                             std::string_view json);

}  // namespace berth::api
