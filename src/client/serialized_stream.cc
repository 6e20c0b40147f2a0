#include "client/serialized_stream.h"

#include <algorithm>
#include <memory>

#include "api/protobuf.h"
#include "api/protobuf_objects.h"

namespace berth::client {
namespace {

std::string version_of(const Json& object) {
  return std::string(object.part("metadata").string_at("resourceVersion"));
}

// Items of a list have neither kind nor apiVersion; readers of single objects expect both.
api::RawPtr listed_object(const Json& item, const std::string& kind, const std::string& api_version) {
  if (!item.string_at("kind").empty()) return std::make_shared<const std::string>(to_string(item));
  Json object = Json::object({{"kind", kind}, {"apiVersion", api_version}});
  for (const JsonMember& member : item.as_object())
    if (member.key != "kind" && member.key != "apiVersion")
      object.as_object().append(member.key, member.value);
  return std::make_shared<const std::string>(to_string(object));
}

Result<ListPage> read_json_list(std::string_view body) {
  const Json list = TRY(parse_json(body));
  std::string kind(list.string_at("kind"));
  if (!kind.ends_with("List")) return Error(ErrorCode::Invalid, "it has another kind");
  kind.resize(kind.size() - std::string_view("List").size());
  const std::string api_version(list.string_at("apiVersion"));
  ListPage page{version_of(list), std::string(list.part("metadata").string_at("continue")), {}};
  for (const Json& item : list.items_at("items")) {
    if (!item.is_object()) return Error(ErrorCode::Invalid, "an item is no object");
    page.objects.push_back(listed_object(item, kind, api_version));
  }
  return page;
}

// The object's text, cut from an event's line as API servers write it: {"type":"…","object":…}. From any
// other layout the object is serialized anew.
api::RawPtr text_of_object(std::string_view line, std::string_view type, const Json& object) {
  const std::string before = R"({"type":")" + std::string(type) + R"(","object":)";
  const bool as_usual = line.starts_with(before) && line.ends_with("}}");
  if (!as_usual) return std::make_shared<const std::string>(to_string(object));
  line.remove_prefix(before.size());
  line.remove_suffix(1);
  return std::make_shared<const std::string>(line);
}

Error unreadable() {
  return Error(ErrorCode::Invalid, "an event cannot be read");
}

Result<WatchEvent> read_json_event(std::string_view line) {
  const Result<Json> event = parse_json(line);
  const Json* object = event ? event->find("object") : nullptr;
  if (!object || !object->is_object()) return unreadable();
  const std::string_view type = event->string_at("type");
  return WatchEvent{std::string(type), version_of(*object), text_of_object(line, type, *object), *object};
}

Result<WatchEvent> read_protobuf_event(std::string_view frame) {
  const Result<api::ProtobufEvent> event = api::open_protobuf_event(frame);
  if (!event) return unreadable();
  const Result<std::string_view> version = api::protobuf_resource_version(event->object);
  if (!version) return unreadable();
  return WatchEvent{std::string(event->type), std::string(*version),
                    std::make_shared<const std::string>(event->object), Json()};
}

}  // namespace

ContentType content_type_of(std::string_view header) {
  return header.starts_with(api::kProtobufMediaType) ? ContentType::Protobuf : ContentType::Json;
}

Result<ListPage> read_list(std::string_view body) {
  if (!api::is_protobuf(body)) return read_json_list(body);
  api::ProtobufList list = TRY(api::open_protobuf_list(body));
  return ListPage{std::move(list.resource_version), std::move(list.next), std::move(list.items)};
}

void WatchEventReader::add(std::string_view bytes) {
  bytes_.erase(0, taken_);
  searched_ -= std::min(searched_, taken_);
  taken_ = 0;
  bytes_ += bytes;
}

Result<std::optional<WatchEvent>> WatchEventReader::next() {
  const bool is_protobuf = type_ == ContentType::Protobuf;
  const std::optional<std::string_view> part = is_protobuf ? next_frame() : next_line();
  if (part) return std::optional(TRY(is_protobuf ? read_protobuf_event(*part) : read_json_event(*part)));
  if (pending_bytes() > kWatchEventBytesMax)
    return Error(ErrorCode::TooLarge, "an event is longer than can be taken");
  return std::optional<WatchEvent>();
}

std::optional<std::string_view> WatchEventReader::next_line() {
  for (;;) {
    const std::size_t end = bytes_.find('\n', std::max(searched_, taken_));
    searched_ = end == std::string::npos ? bytes_.size() : end + 1;
    if (end == std::string::npos) return std::nullopt;
    const std::string_view line = std::string_view(bytes_).substr(taken_, end - taken_);
    taken_ = end + 1;
    if (!line.empty()) return line;
  }
}

std::optional<std::string_view> WatchEventReader::next_frame() {
  const std::string_view rest = std::string_view(bytes_).substr(taken_);
  const std::optional<std::size_t> length = api::frame_length(rest);
  announced_ = length.value_or(0);
  if (!length || rest.size() - api::kFrameHeaderBytes < *length) return std::nullopt;
  taken_ += api::kFrameHeaderBytes + *length;
  announced_ = 0;
  return rest.substr(api::kFrameHeaderBytes, *length);
}

std::size_t WatchEventReader::pending_bytes() const {
  return std::max(bytes_.size() - taken_, announced_);
}

}  // namespace berth::client
