#include "server/serialization.h"

#include "api/conversions.h"
#include "crd/served_version.h"
#include "server/metadata.h"
#include "server/object_target.h"
#include "server/tables.h"
#include "server/tables_custom.h"

namespace berth::server {
namespace {

// The text after kind and apiVersion; both are first in every stored object (draft_of).
std::string_view behind_type(const std::string& stored) {
  const std::size_t metadata = stored.find("\"metadata\":");
  return std::string_view(stored).substr(metadata == std::string::npos ? 1 : metadata);
}

api::ProtobufKind kind_in_protobuf(const api::ResourceInfo& resource, Rendering rendering,
                                   std::string_view suffix) {
  const bool partial = rendering.form == Form::Metadata;
  std::string kind(partial ? "PartialObjectMetadata" : resource.kind);
  kind += suffix;
  if (partial) return {meta_version_of(rendering), kind, api::find_type(kMetaGroup, rendering.version, kind)};
  const bool is_written = rendering.form == Form::Object && resource.has_protobuf();
  return {api_version_of(resource), kind,
          is_written ? api::find_type(resource.group, resource.version, kind) : nullptr};
}

// The object in another shape than the stored one.
Json converted(const api::ResourceInfo& resource, const std::string& stored) {
  Result<Json> document = parse_json(stored);
  return document ? to_served_shape(resource, std::move(document).value()) : Json::object();
}

}  // namespace

std::string type_prefix(std::string_view group, std::string_view version, std::string_view kind) {
  std::string prefix = "{\"kind\":\"";
  prefix.append(kind).append("\",\"apiVersion\":\"");
  if (!group.empty()) prefix.append(group).append("/");
  return prefix.append(version).append("\",");
}

std::string object_bytes(const api::ResourceInfo& resource, const std::string& stored) {
  if (needs_conversion(resource)) return to_string(converted(resource, stored));
  return type_prefix(resource.group, resource.version, resource.kind).append(behind_type(stored));
}

std::string item_bytes(const api::ResourceInfo& resource, const std::string& stored) {
  if (resource.custom) return object_bytes(resource, stored);
  if (needs_conversion(resource)) {
    Json item = converted(resource, stored);
    item.as_object().erase("kind");
    item.as_object().erase("apiVersion");
    return to_string(item);
  }
  return std::string("{").append(behind_type(stored));
}

std::string meta_version_of(Rendering rendering) {
  return std::string(kMetaGroup) + "/" + std::string(rendering.version);
}

std::string metadata_bytes(Rendering rendering, const std::string& stored) {
  const Result<Json> object = parse_json(stored);
  return type_prefix(kMetaGroup, rendering.version, "PartialObjectMetadata") +
         "\"metadata\":" + to_string(object ? metadata_of(*object) : Json::object()) + "}";
}

api::ProtobufKind protobuf_kind(const api::ResourceInfo& resource, Rendering rendering) {
  return kind_in_protobuf(resource, rendering, "");
}

api::ProtobufKind protobuf_list_kind(const api::ResourceInfo& resource, Rendering rendering) {
  return kind_in_protobuf(resource, rendering, "List");
}

bool is_stored_as_shown(const api::ResourceInfo& resource, Form form) {
  return form == Form::Metadata || !needs_conversion(resource);
}

ApiStatus not_written(const Error& error) {
  return internal_error("not written as protobuf: " + error.text());
}

std::string table_of_no_rows(const api::ResourceInfo& resource, Rendering rendering,
                             std::string_view list_metadata, bool with_columns) {
  const crd::ServedVersion* custom = crd::served_version(resource);
  std::string body = type_prefix(kMetaGroup, rendering.version, "Table");
  body.append("\"metadata\":").append(list_metadata).append(",\"columnDefinitions\":");
  if (!with_columns)
    body += "null";
  else
    body += to_string(custom ? custom_definitions(*custom) : definitions_json(columns_of(resource)));
  return body.append(",\"rows\":[]}");
}

std::string table_row(const api::ResourceInfo& resource, const store::ObjectPtr& object, Rendering rendering,
                      Time now) {
  const Result<Json> json = parse_json(object->bytes);
  if (!json) return "";
  const crd::ServedVersion* custom = crd::served_version(resource);
  std::string row = "{\"cells\":";
  row += to_string(custom ? custom_cells(*custom, *json, now) : columns_of(resource).cells(*json, now));
  row += ",\"object\":";
  switch (rendering.include) {
    case Rendering::Include::Object:
      row += object_bytes(resource, object->bytes);
      break;
    case Rendering::Include::Metadata:
      row += metadata_bytes(rendering, object->bytes);
      break;
    case Rendering::Include::None:
      row += "null";
      break;
  }
  return row += '}';
}

std::string table_bytes(const api::ResourceInfo& resource, const store::ObjectPtr& object,
                        Rendering rendering, std::string_view list_metadata, Time now, bool with_columns) {
  std::string body = table_of_no_rows(resource, rendering, list_metadata, with_columns);
  constexpr std::string_view kEnd = "]}";
  body.resize(body.size() - kEnd.size());
  return body.append(table_row(resource, object, rendering, now)).append(kEnd);
}

}  // namespace berth::server
