// The body of a LIST answer in pieces: its beginning, each object, its end.
//
// Together the pieces are what the reference answers in one. One thread at a time. Cost of an object: its
// bytes are copied, or written as protobuf in one pass; Tables, metadata in JSON, YAML and versions of
// another shape are parsed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/protobuf_objects.h"
#include "base/time.h"
#include "server/object_target.h"
#include "server/rendering.h"
#include "server/status.h"
#include "store/store.h"

namespace berth::server {

class ListBody {
 public:
  ListBody(const api::ResourceInfo& resource, Rendering rendering, Time now);

  std::string_view content_type() const;
  // Whether the beginning says how many bytes the objects take.
  bool is_measured() const { return protobuf_.has_value(); }
  // `metadata` is the list's, as JSON. The objects follow from the first one on. 500 for metadata that
  // protobuf cannot hold.
  ApiResult<std::string> begin(std::string_view metadata, std::size_t objects_bytes);
  // 500 for an object that protobuf cannot hold.
  ApiResult<void> append(std::string& out, const store::ObjectPtr& object);
  std::string end();
  // Forgets the objects that were appended.
  void restart() { has_objects_ = false; }

 private:
  std::string kind() const;
  // The body without objects.
  std::string empty_body(std::string_view metadata) const;
  ApiResult<void> append_protobuf(std::string& out, const std::string& stored) const;
  std::string in_json(const store::ObjectPtr& object) const;

  const api::ResourceInfo& resource_;
  const Rendering rendering_;
  const Time now_;
  std::optional<api::ProtobufListWriter> protobuf_;
  bool has_objects_ = false;
  std::string end_;  // of JSON and YAML
};

}  // namespace berth::server
