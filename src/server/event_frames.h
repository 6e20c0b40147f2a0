// The events of one watch as its client reads them: lines of JSON, or frames of protobuf.
//
// Owner: a WatchStream, one thread at a time. Cost of an object: its bytes are copied, or written as protobuf
// in one pass; Tables, metadata in JSON and versions of another shape are parsed. Source: WatchEvent of
// meta/v1 and its encoders in k8s.io/apiserver.
#pragma once

#include <string>
#include <string_view>

#include "api/protobuf_encode.h"
#include "server/object_target.h"
#include "server/rendering.h"
#include "server/status.h"
#include "store/store.h"

namespace berth::server {

class EventFrames {
 public:
  EventFrames(const api::ResourceInfo& resource, Rendering rendering);

  std::string_view content_type() const;
  // `type`: ADDED, MODIFIED, DELETED. 500 for an object that protobuf cannot hold.
  ApiResult<std::string> of_object(std::string_view type, const store::ObjectPtr& object, Time now);
  // What has been sent is complete up to `revision`.
  std::string bookmark(store::Revision revision, bool ends_initial_events, Time now);
  // The last event of a watch.
  std::string error(const ApiStatus& status) const;

 private:
  bool is_protobuf() const { return rendering_.encoding == Encoding::Protobuf; }
  ApiResult<std::string> frame(std::string_view type, std::string_view json) const;
  std::string shown(const store::ObjectPtr& object, Time now);

  const api::ResourceInfo& resource_;
  const Rendering rendering_;
  const api::ProtobufKind kind_;
  bool columns_sent_ = false;
};

}  // namespace berth::server
