// Lists and watches as an API server sends them, JSON or protobuf, cut into objects.
//
// Pure; a reader belongs to one thread. Source: Kubernetes API concepts (paging, watches, bookmarks; JSON
// events are lines, protobuf events are frames with their length in front).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/types/meta.h"
#include "base/json.h"
#include "base/result.h"
#include "client/api_client.h"

namespace berth::client {

inline constexpr std::size_t kWatchEventBytesMax = 32u << 20;  // of one event; a longer one breaks the watch

enum class ContentType : std::uint8_t { Json, Protobuf };
// Of an answer's header; JSON for everything that is not protobuf.
ContentType content_type_of(std::string_view header);

// One page of a list. Its objects have kind and apiVersion, which items of JSON lists lack.
struct ListPage {
  std::string resource_version;
  std::string next;  // the continue token; empty on the last page
  std::vector<api::RawPtr> objects;
};
// Refuses what is no list.
Result<ListPage> read_list(std::string_view body);

struct WatchEvent {
  std::string type;              // ADDED, MODIFIED, DELETED, BOOKMARK, ERROR
  std::string resource_version;  // of the object; empty without one
  api::RawPtr object;            // of ERROR: a Status
  Json document;                 // the same, parsed; null where it was not needed
};

// Collects the bytes of a watch and gives its events.
class WatchEventReader {
 public:
  explicit WatchEventReader(ContentType type) : type_(type) {}

  void add(std::string_view bytes);
  // The next whole event; nothing until more bytes come. An error is final: the stream cannot be read on.
  Result<std::optional<WatchEvent>> next();

 private:
  std::optional<std::string_view> next_line();
  std::optional<std::string_view> next_frame();
  std::size_t pending_bytes() const;

  const ContentType type_;
  std::string bytes_;
  std::size_t taken_ = 0;      // bytes of events that were given
  std::size_t searched_ = 0;   // no end of a line before this offset
  std::size_t announced_ = 0;  // length of the incomplete frame
};

}  // namespace berth::client
