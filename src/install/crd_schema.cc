#include "install/crd_schema.h"

#include <algorithm>
#include <vector>

#include "base/assert.h"

namespace berth::install {
namespace {

Json typed(std::string_view type, std::string_view format = {}) {
  Json schema = Json::object({{"type", type}});
  if (!format.empty()) schema["format"] = format;
  return schema;
}

Json marked(std::string_view extension) {
  return Json::object({{std::string(extension), true}});
}

Json schema_at(const api::TypeInfo& type, std::span<const std::string_view> keys, int depth);

Json value_schema(const api::FieldInfo& field, std::span<const std::string_view> keys, int depth) {
  switch (field.kind) {
    case api::ValueKind::String:
    case api::ValueKind::Duration:
      return typed("string");
    case api::ValueKind::Bytes:
      return typed("string", "byte");
    case api::ValueKind::Time:
    case api::ValueKind::MicroTime:
      return typed("string", "date-time");
    case api::ValueKind::Bool:
      return typed("boolean");
    case api::ValueKind::Int32:
      return typed("integer", "int32");
    case api::ValueKind::Int64:
      return typed("integer", "int64");
    case api::ValueKind::Double:
      return typed("number", "double");
    case api::ValueKind::Quantity:
    case api::ValueKind::IntOrString:
      return marked("x-kubernetes-int-or-string");
    case api::ValueKind::Message:
      return schema_at(field.type(), keys, depth + 1);
    default: {  // any JSON
      Json schema = typed("object");
      schema["x-kubernetes-preserve-unknown-fields"] = true;
      return schema;
    }
  }
}

Json list_schema(const api::FieldInfo& field, int depth) {
  std::vector<std::string_view> keys;
  api::for_each_listed(field.map_keys, [&](std::string_view key) { keys.push_back(key); });
  const bool map = field.list_type == api::ListType::Map && !keys.empty();
  Json schema = typed("array");
  schema["items"] = value_schema(field, map ? keys : std::vector<std::string_view>(), depth);
  if (!map) {
    schema["x-kubernetes-list-type"] = field.list_type == api::ListType::Set ? "set" : "atomic";
    return schema;
  }
  schema["x-kubernetes-list-type"] = "map";
  Json names = Json::array();
  for (const std::string_view key : keys) names.as_array().emplace_back(key);
  schema["x-kubernetes-list-map-keys"] = std::move(names);
  return schema;
}

Json field_schema(const api::FieldInfo& field, int depth) {
  if (field.shape == api::Shape::List) return list_schema(field, depth);
  if (field.shape == api::Shape::One) return value_schema(field, {}, depth);
  Json schema = typed("object");
  schema["additionalProperties"] = field.shape == api::Shape::Map
                                       ? value_schema(field, {}, depth)
                                       : Json::object({{"type", "array"},
                                                       {"items", value_schema(field, {}, depth)},
                                                       {"x-kubernetes-list-type", "atomic"}});
  return schema;
}

bool is_required(const api::TypeInfo& type, const api::FieldInfo& field,
                 std::span<const std::string_view> keys) {
  if (std::find(keys.begin(), keys.end(), field.json) != keys.end()) return true;
  const bool leaves_out = field.is(api::kOmitEmpty) || field.is(api::kOmitZero) || field.is(api::kOptional);
  const bool holds_required = type.is(api::kTopLevel) && field.json == "spec";
  return type.group == api::kBerthGroup && (!leaves_out || holds_required);
}

Json schema_at(const api::TypeInfo& type, std::span<const std::string_view> keys, int depth) {
  BERTH_ASSERT(depth <= kSchemaDepthMax, "a type with a schema does not hold itself");
  Json properties = Json::object();
  Json required = Json::array();
  for (const api::FieldInfo& field : type.fields()) {
    const bool meta = type.is(api::kTopLevel) && field.json == "metadata";
    properties[field.json] = meta ? typed("object") : field_schema(field, depth);
    if (is_required(type, field, keys)) required.as_array().emplace_back(field.json);
  }
  Json schema = typed("object");
  if (!required.as_array().empty()) schema["required"] = std::move(required);
  schema["properties"] = std::move(properties);
  if (type.is(api::kAtomicStruct)) schema["x-kubernetes-map-type"] = "atomic";
  return schema;
}

}  // namespace

Json structural_schema(const api::TypeInfo& type) {
  return schema_at(type, {}, 0);
}

}  // namespace berth::install
