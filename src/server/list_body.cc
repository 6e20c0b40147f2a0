#include "server/list_body.h"

#include "api/protobuf.h"
#include "api/yaml_write.h"
#include "server/serialization.h"

namespace berth::server {
namespace {

// The member that the objects of a list or a Table are in.
std::string_view objects_member(Form form) {
  return form == Form::Table ? "rows" : "items";
}

}  // namespace

ListBody::ListBody(const api::ResourceInfo& resource, Rendering rendering, Time now)
    : resource_(resource), rendering_(rendering), now_(now) {
  if (rendering.encoding == Encoding::Protobuf) protobuf_.emplace(protobuf_list_kind(resource, rendering));
}

std::string_view ListBody::content_type() const {
  return media_type_of(rendering_.encoding);
}

std::string ListBody::kind() const {
  if (rendering_.form == Form::Metadata) return "PartialObjectMetadataList";
  return api::list_kind_of(resource_);
}

std::string ListBody::empty_body(std::string_view metadata) const {
  if (rendering_.form == Form::Table) return table_of_no_rows(resource_, rendering_, metadata, true);
  const bool partial = rendering_.form == Form::Metadata;
  std::string body = "{\"kind\":\"" + kind() + "\",\"apiVersion\":\"";
  body += partial ? meta_version_of(rendering_) : api_version_of(resource_);
  return body.append("\",\"metadata\":").append(metadata).append(",\"items\":[]}\n");
}

ApiResult<std::string> ListBody::begin(std::string_view metadata, std::size_t objects_bytes) {
  has_objects_ = false;
  if (protobuf_) {
    Result<std::string> head = protobuf_->head(metadata, objects_bytes);
    if (!head) return not_written(head.error());
    return *std::move(head);
  }
  // What is around the objects of a body without any.
  std::string body = empty_body(metadata);
  const std::string member(objects_member(rendering_.form));
  const bool yaml = rendering_.encoding == Encoding::Yaml;
  if (yaml) body = yaml_of(body);
  const std::string empty = yaml ? "\n" + member + ": []\n" : "\"" + member + "\":[]";
  const std::size_t at = body.rfind(empty);
  BERTH_ASSERT(at != std::string::npos, "a list has its member");
  const std::size_t split = at + empty.size() - (yaml ? std::string_view(" []\n").size() : 1);
  end_ = body.substr(split);
  body.resize(split);
  return body;
}

ApiResult<void> ListBody::append(std::string& out, const store::ObjectPtr& object) {
  if (protobuf_) return append_protobuf(out, object->bytes);
  const std::string text = in_json(object);
  if (text.empty()) return {};
  const bool first = !std::exchange(has_objects_, true);
  if (rendering_.encoding != Encoding::Yaml) {
    if (!first) out += ',';
    out += text;
    return {};
  }
  if (first) out += '\n';
  out += yaml_of("[" + text + "]");
  return {};
}

ApiResult<void> ListBody::append_protobuf(std::string& out, const std::string& stored) const {
  const bool as_stored = is_stored_as_shown(resource_, rendering_.form);
  const Status written = as_stored ? protobuf_->append_item(out, stored)
                                   : protobuf_->append_item(out, object_bytes(resource_, stored));
  if (!written) return not_written(written.error());
  return {};
}

std::string ListBody::in_json(const store::ObjectPtr& object) const {
  if (rendering_.form == Form::Table) return table_row(resource_, object, rendering_, now_);
  if (rendering_.form == Form::Metadata) return metadata_bytes(rendering_, object->bytes);
  return item_bytes(resource_, object->bytes);
}

std::string ListBody::end() {
  if (protobuf_) return api::ProtobufListWriter::tail();
  // " []\n" of the member without objects.
  constexpr std::string_view kNothing = " []\n";
  if (rendering_.encoding == Encoding::Yaml && has_objects_) return end_.substr(kNothing.size());
  return end_;
}

}  // namespace berth::server
