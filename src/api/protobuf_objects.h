// Objects of lists and watch events in Kubernetes' protobuf, cut out without decoding them.
//
// Pure, any thread. Cost: linear in the bytes of the messages around the objects, which are skipped. Source:
// meta/v1 ListMeta, ObjectMeta and WatchEvent; apimachinery's protobuf serializer: a list is one body, a
// watch is frames of four bytes of length (big endian) and a WatchEvent without the prefix "k8s\0".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// metadata.resourceVersion of a body that is one object; empty when absent.
Result<std::string_view> protobuf_resource_version(std::string_view body);

}  // namespace berth::api
