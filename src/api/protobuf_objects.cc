#include "api/protobuf_objects.h"

#include <memory>

#include "api/protobuf.h"
#include "api/protobuf_wire.h"
#include "base/heap_growth.h"

namespace berth::api {
namespace {

constexpr std::string_view kListSuffix = "List";
constexpr std::size_t kItemsOfHeapGrowth = 64;  // each with 1 KB or less, in most clusters

// The numbers of the Go types' tags.
enum ListField : std::uint32_t { kListMetadata = 1, kListItems = 2 };
enum ListMetaField : std::uint32_t { kListVersion = 2, kListContinue = 3 };
enum EventField : std::uint32_t { kEventType = 1, kEventObject = 2, kRawExtensionBytes = 1 };
enum ObjectField : std::uint32_t { kObjectMetadata = 1, kMetaUid = 5, kMetaVersion = 6 };

// The last value of a field of bytes, as for every field of one message; empty when absent.
Result<std::string_view> bytes_of(std::string_view message, std::uint32_t number) {
  std::string_view found;
  WireReader reader(message);
  while (!reader.at_end()) {
    const WireField field = TRY(reader.next());
    if (field.number == number && field.type == WireType::Bytes) found = field.bytes;
  }
  return found;
}

Result<std::string_view> metadata_text(std::string_view body, std::uint32_t number) {
  const ProtobufEnvelope envelope = TRY(open_protobuf_envelope(body));
  return bytes_of(TRY(bytes_of(envelope.message, kObjectMetadata)), number);
}

}  // namespace

Result<ProtobufList> open_protobuf_list(std::string_view body) {
  const ProtobufEnvelope envelope = TRY(open_protobuf_envelope(body));
  if (!envelope.kind.ends_with(kListSuffix)) return Error(ErrorCode::Invalid, "the body is no list");
  std::string_view kind = envelope.kind;
  kind.remove_suffix(kListSuffix.size());
  ProtobufList list;
  WireReader reader(envelope.message);
  while (!reader.at_end()) {
    const WireField field = TRY(reader.next());
    if (field.type != WireType::Bytes) continue;
    if (field.number == kListMetadata) {
      list.resource_version = TRY(bytes_of(field.bytes, kListVersion));
      list.next = TRY(bytes_of(field.bytes, kListContinue));
    } else if (field.number == kListItems) {
      if (list.items.size() % kItemsOfHeapGrowth == 0) grow_heap();
      list.items.push_back(std::make_shared<const std::string>(
          enclosed_in_envelope({envelope.api_version, kind, field.bytes})));
    }
  }
  return list;
}

Result<ProtobufEvent> open_protobuf_event(std::string_view message) {
  const std::string_view extension = TRY(bytes_of(message, kEventObject));
  return ProtobufEvent{TRY(bytes_of(message, kEventType)), TRY(bytes_of(extension, kRawExtensionBytes))};
}

std::optional<std::size_t> frame_length(std::string_view bytes) {
  if (bytes.size() < kFrameHeaderBytes) return std::nullopt;
  std::size_t length = 0;
  for (std::size_t i = 0; i < kFrameHeaderBytes; ++i)
    length = length << 8 | static_cast<unsigned char>(bytes[i]);
  return length;
}

Result<std::string> protobuf_frame(std::string_view event_type, const ProtobufKind& kind,
                                   std::string_view json) {
  std::string frame(kFrameHeaderBytes, '\0');
  frame.reserve(json.size());
  append_bytes_field(frame, kEventType, event_type);
  const std::size_t object = begin_bytes_field(frame, kEventObject);
  const std::size_t raw = begin_bytes_field(frame, kRawExtensionBytes);
  TRY(append_protobuf_body(frame, kind, json));
  end_bytes_field(frame, raw);
  end_bytes_field(frame, object);
  std::size_t length = frame.size() - kFrameHeaderBytes;
  for (std::size_t i = kFrameHeaderBytes; i-- > 0; length >>= 8) frame[i] = static_cast<char>(length & 0xff);
  return frame;
}

ProtobufListWriter::ProtobufListWriter(ProtobufKind kind)
    : kind_(std::move(kind)),
      metadata_(*kind_.type->field_by_json("metadata")),
      items_(*kind_.type->field_by_json("items")) {}

Status ProtobufListWriter::append_item(std::string& out, std::string_view json) const {
  return append_protobuf_field(out, items_.proto, items_.type(), json);
}

Result<std::string> ProtobufListWriter::head(std::string_view metadata, std::size_t items_bytes) const {
  std::string field;
  TRY(append_protobuf_field(field, metadata_.proto, metadata_.type(), metadata));
  return envelope_head(kind_.api_version, kind_.kind, field.size() + items_bytes) + field;
}

std::string ProtobufListWriter::tail() {
  return envelope_tail();
}

Result<std::string_view> protobuf_resource_version(std::string_view body) {
  return metadata_text(body, kMetaVersion);
}
Result<std::string_view> protobuf_uid(std::string_view body) {
  return metadata_text(body, kMetaUid);
}

}  // namespace berth::api
