#include "client/testing/protobuf_answers.h"

#include "api/protobuf_encode.h"
#include "api/protobuf_wire.h"

namespace berth::client {

std::string protobuf_body(std::string_view json) {
  return api::encode_protobuf_body(json, api::Unnumbered::Refuse).value();
}

std::string protobuf_frame(std::string_view type, std::string_view json) {
  std::string extension, event, bytes;
  api::append_bytes_field(extension, 1, protobuf_body(json));
  api::append_bytes_field(event, 1, type);
  api::append_bytes_field(event, 2, extension);
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(event.size() >> shift);
  return bytes + event;
}

}  // namespace berth::client
