#include "api/serialized.h"

namespace berth::api {

Result<const TypeInfo*> type_of_envelope(const ProtobufEnvelope& envelope) {
  if (const TypeInfo* type = find_kind(envelope.api_version, envelope.kind)) return type;
  return Error(ErrorCode::Unsupported, "protobuf of the unknown kind " + std::string(envelope.kind) + " of " +
                                           std::string(envelope.api_version));
}

Result<Json> parse_object(std::string_view bytes, ManagedFields managed_fields) {
  if (!is_protobuf(bytes)) return parse_json(bytes);
  const ProtobufEnvelope envelope = TRY(open_protobuf_envelope(bytes));
  return decode_enclosed(*TRY(type_of_envelope(envelope)), envelope, managed_fields);
}

}  // namespace berth::api
