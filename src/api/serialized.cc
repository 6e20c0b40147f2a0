#include "api/serialized.h"

namespace berth::api {

Result<Json> parse_object(std::string_view bytes, ManagedFields managed_fields) {
  if (!is_protobuf(bytes)) return parse_json(bytes);
  const ProtobufEnvelope envelope = TRY(open_protobuf_envelope(bytes));
  const TypeInfo* type = find_kind(envelope.api_version, envelope.kind);
  if (!type)
    return Error(ErrorCode::Unsupported, "protobuf of the unknown kind " + std::string(envelope.kind) +
                                             " of " + std::string(envelope.api_version));
  return decode_enclosed(*type, envelope, managed_fields);
}

}  // namespace berth::api
