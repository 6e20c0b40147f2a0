// One object's bytes as API servers send them: JSON, or Kubernetes protobuf where the kind is built in.
//
// Pure, any thread. The bytes say themselves which they are. Cost: one pass (a 1 KB pod takes about 10 µs).
#pragma once

#include <string_view>

#include "api/protobuf.h"
#include "base/json.h"
#include "base/result.h"

namespace berth::api {

// The object's document, whichever its form. From protobuf: fields that the type table lacks are left out,
// and a kind that it lacks is an error. ManagedFields::Skip saves time; whether JSON keeps them is not said.
Result<Json> parse_object(std::string_view bytes, ManagedFields managed_fields = ManagedFields::Decode);

// The type of an enclosed message; an error for a kind that the type table lacks.
Result<const TypeInfo*> type_of_envelope(const ProtobufEnvelope& envelope);

}  // namespace berth::api
