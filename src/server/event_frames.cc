#include "server/event_frames.h"

#include <memory>

#include "api/protobuf_objects.h"
#include "server/serialization.h"

namespace berth::server {
namespace {

constexpr std::string_view kStreamOfProtobuf = "application/vnd.kubernetes.protobuf;stream=watch";

std::string line(std::string_view type, std::string_view object) {
  constexpr std::size_t kAroundBytes = 40;  // what is around them, here and in a chunk
  std::string line;
  line.reserve(type.size() + object.size() + kAroundBytes);
  line = "{\"type\":\"";
  return line.append(type).append("\",\"object\":").append(object).append("}\n");
}

}  // namespace

EventFrames::EventFrames(const api::ResourceInfo& resource, Rendering rendering)
    : resource_(resource), rendering_(rendering), kind_(protobuf_kind(resource, rendering)) {}

std::string_view EventFrames::content_type() const {
  return is_protobuf() ? kStreamOfProtobuf : "application/json";
}

ApiResult<std::string> EventFrames::frame(std::string_view type, std::string_view json) const {
  if (!is_protobuf()) return line(type, json);
  Result<std::string> frame = api::protobuf_frame(type, kind_, json);
  if (!frame) return not_written(frame.error());
  return *std::move(frame);
}

ApiResult<std::string> EventFrames::of_object(std::string_view type, const store::ObjectPtr& object,
                                              Time now) {
  if (is_protobuf() && is_stored_as_shown(resource_, rendering_.form)) return frame(type, object->bytes);
  return frame(type, shown(object, now));
}

std::string EventFrames::shown(const store::ObjectPtr& object, Time now) {
  if (rendering_.form == Form::Metadata) return metadata_bytes(rendering_, object->bytes);
  if (rendering_.form == Form::Object) return object_bytes(resource_, object->bytes);
  const bool first = !std::exchange(columns_sent_, true);
  const std::string metadata = "{\"resourceVersion\":\"" + std::to_string(object->revision) + "\"}";
  return table_bytes(resource_, object, rendering_, metadata, now, first);
}

std::string EventFrames::bookmark(store::Revision revision, bool ends_initial_events, Time now) {
  Json metadata =
      Json::object({{"resourceVersion", std::to_string(revision)}, {"creationTimestamp", Json()}});
  if (ends_initial_events) metadata["annotations"] = Json::object({{"k8s.io/initial-events-end", "true"}});
  const bool partial = rendering_.form == Form::Metadata;
  Json object =
      Json::object({{"kind", partial ? std::string_view("PartialObjectMetadata") : resource_.kind},
                    {"apiVersion", partial ? meta_version_of(rendering_) : api_version_of(resource_)},
                    {"metadata", std::move(metadata)}});
  if (rendering_.form == Form::Table) {
    auto row = std::make_shared<store::Object>();
    row->revision = revision;
    row->bytes = to_string(object);
    return frame("BOOKMARK", shown(row, now)).value();
  }
  return frame("BOOKMARK", to_string(object)).value();
}

std::string EventFrames::error(const ApiStatus& status) const {
  constexpr std::string_view kType = "ERROR";
  const std::string json = to_string(status.to_json());
  if (!is_protobuf()) return line(kType, json);
  return api::protobuf_frame(kType, {"v1", "Status", api::find_kind("v1", "Status")}, json).value();
}

}  // namespace berth::server
