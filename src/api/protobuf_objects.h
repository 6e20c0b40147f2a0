// Lists and watch events in Kubernetes' protobuf: their objects cut out without decoding them, and written.
//
// A list is one body. A watch is a sequence of frames: four bytes of length (big endian), then a WatchEvent
// without the prefix "k8s\0". Pure, any thread. Cost: linear in the bytes of the messages around the objects,
// which are skipped. Source: meta/v1 ListMeta, ObjectMeta and WatchEvent; apimachinery's protobuf serializer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/protobuf_encode.h"
#include "api/types/meta.h"
#include "base/result.h"

namespace berth::api {

// Every item is a body of its own, with the list's apiVersion and its kind without "List".
struct ProtobufList {
  std::string resource_version;
  std::string next;  // metadata.continue
  std::vector<RawPtr> items;
};
Result<ProtobufList> open_protobuf_list(std::string_view body);

// Views into the message.
struct ProtobufEvent {
  std::string_view type;    // ADDED, MODIFIED, DELETED, BOOKMARK, ERROR
  std::string_view object;  // a body
};
Result<ProtobufEvent> open_protobuf_event(std::string_view message);

inline constexpr std::size_t kFrameHeaderBytes = 4;
// The length of the message behind a frame's header; nothing while the header is incomplete.
std::optional<std::size_t> frame_length(std::string_view bytes);

// The frame of an event with this object, without members that have no number.
Result<std::string> protobuf_frame(std::string_view event_type, const ProtobufKind& kind,
                                   std::string_view json);

// The body of a list in pieces, written item by item from JSON texts: head, items, tail. Members without a
// number are left out. The head says how many bytes the items take, so they are written, or measured, first.
class ProtobufListWriter {
 public:
  // `kind` is the list's.
  explicit ProtobufListWriter(ProtobufKind kind);
  Status append_item(std::string& out, std::string_view json) const;
  // `metadata` is the list's; `items_bytes` the size of all items.
  Result<std::string> head(std::string_view metadata, std::size_t items_bytes) const;
  static std::string tail();

 private:
  const ProtobufKind kind_;
  const FieldInfo& metadata_;
  const FieldInfo& items_;
};

// metadata.resourceVersion and metadata.uid of a body that is one object; empty when absent.
Result<std::string_view> protobuf_resource_version(std::string_view body);
Result<std::string_view> protobuf_uid(std::string_view body);

}  // namespace berth::api
