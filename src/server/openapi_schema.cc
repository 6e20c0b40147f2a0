#include "server/openapi_schema.h"

#include <algorithm>
#include <map>
#include <vector>

#include "api/descriptions.h"
#include "api/gates.h"
#include "crd/served_version.h"
#include "server/served.h"

namespace berth::server {
namespace {

// Types to which Go gives a schema of their own; all other texts and numbers are inlined in their field.
struct NamedScalar {
  api::ValueKind kind;
  std::string_view name;
  std::string_view type;
  std::string_view format;
};
constexpr NamedScalar kNamed[] = {
    {api::ValueKind::Time, "io.k8s.apimachinery.pkg.apis.meta.v1.Time", "string", "date-time"},
    {api::ValueKind::MicroTime, "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime", "string", "date-time"},
    {api::ValueKind::Duration, "io.k8s.apimachinery.pkg.apis.meta.v1.Duration", "string", ""},
    {api::ValueKind::FieldsV1, "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1", "object", ""},
    {api::ValueKind::RawJson, "io.k8s.apimachinery.pkg.runtime.RawExtension", "object", ""},
    {api::ValueKind::Quantity, "io.k8s.apimachinery.pkg.api.resource.Quantity", "", ""},
    {api::ValueKind::IntOrString, "io.k8s.apimachinery.pkg.util.intstr.IntOrString", "", "int-or-string"},
};

// What `kubectl explain` says of the members that every object has; clients match how the sentences begin.
struct Described {
  std::string_view field, text;
};
constexpr Described kOfObject[] = {
    {"apiVersion", "APIVersion defines the schema of this object: its group and its version."},
    {"kind", "Kind is the type of this object, in CamelCase."},
    {"metadata", "Standard object's metadata."},
};

void describe(Json& schema, std::string_view text) {
  if (!text.empty()) schema["description"] = text;
}
template <std::size_t N>
void describe(Json& schema, const Described (&rows)[N], std::string_view field) {
  for (const Described& row : rows)
    if (row.field == field) describe(schema, row.text);
}

const NamedScalar* named_scalar(api::ValueKind kind) {
  for (const NamedScalar& row : kNamed)
    if (row.kind == kind) return &row;
  return nullptr;
}

Json one_of(std::string_view a, std::string_view b) {
  return Json::array({Json::object({{"type", a}}), Json::object({{"type", b}})});
}

Json named_schema(const NamedScalar& row) {
  Json schema = Json::object();
  if (!row.type.empty()) schema["type"] = row.type;
  if (row.kind == api::ValueKind::Quantity) schema["oneOf"] = one_of("string", "number");
  if (row.kind == api::ValueKind::IntOrString) schema["oneOf"] = one_of("integer", "string");
  if (!row.format.empty()) schema["format"] = row.format;
  return schema;
}

std::string reference(std::string_view name) {
  return "#/components/schemas/" + std::string(name);
}

// Schemas referenced so far, and those still to be written.
class Schemas {
 public:
  explicit Schemas(const api::Gates& gates) : gates_(gates) {}

  void add(const api::TypeInfo& type) {
    waiting_.push_back(&type);
    while (!waiting_.empty()) {
      const api::TypeInfo& next = *waiting_.back();
      waiting_.pop_back();
      if (const std::string name = schema_name(next); !found_.contains(name)) {
        found_[name] = Json();
        found_[name] = schema_of(next);
      }
    }
  }
  Json take() && {
    Json all = Json::object();
    for (auto& [name, schema] : found_) all[name] = std::move(schema);
    return all;
  }

 private:
  // A field that only Berth has exists with its gate.
  bool exists(const api::FieldInfo& field) const {
    return !field.gate.starts_with("Berth") || gates_.enabled(field.gate);
  }

  // In a type whose every field has an explicit optionality, omitting zero values means nothing.
  static bool is_optional(const api::TypeInfo& type, const api::FieldInfo& field) {
    const bool all_marked = type.group == "resource.k8s.io" && field.json != "metadata";
    const bool leaves_out = field.is(api::kOmitEmpty) || field.is(api::kOmitZero);
    return field.is(api::kOptional) || (leaves_out && (!all_marked || type.is(api::kTopLevel)));
  }

  Json schema_of(const api::TypeInfo& type) {
    Json schema = Json::object({{"type", "object"}});
    Json required = Json::array();
    Json properties = Json::object();
    for (const api::FieldInfo& field : type.fields()) {
      if (!exists(field)) continue;
      const bool optional = is_optional(type, field);
      if (!optional) required.as_array().emplace_back(field.json);
      Json& made = properties[field.json];
      made = property(field, optional);
      describe(made, api::description_of(type.group, type.name, field.json));
      if (type.is(api::kTopLevel)) describe(made, kOfObject, field.json);
    }
    if (!required.as_array().empty()) schema["required"] = std::move(required);
    if (!properties.as_object().empty()) schema["properties"] = std::move(properties);
    describe(schema, api::description_of(type.group, type.name));
    if (type.is(api::kAtomicStruct)) schema["x-kubernetes-map-type"] = "atomic";
    if (type.is(api::kTopLevel) && type.group != "meta.k8s.io")
      schema["x-kubernetes-group-version-kind"] = Json::array(
          {Json::object({{"group", type.group}, {"kind", type.name}, {"version", type.version}})});
    return schema;
  }

  Json property(const api::FieldInfo& field, bool optional) {
    if (field.shape == api::Shape::List) return list(field, true);
    if (field.shape != api::Shape::One) {
      Json schema = Json::object({{"type", "object"}});
      schema["additionalProperties"] =
          field.shape == api::Shape::MapOfLists ? list(field, false) : value(field);
      if (field.is(api::kAtomicValue)) schema["x-kubernetes-map-type"] = "atomic";
      return schema;
    }
    Json schema = value(field);
    const bool referred = schema.find("$ref") != nullptr;
    const bool pointer = field.is(api::kPointer);
    if (referred) {
      schema = Json::object({{"allOf", Json::array({std::move(schema)})}});
      const bool is_message = field.kind == api::ValueKind::Message;
      if (is_message && !pointer) schema["default"] = Json::object();
    } else if (!optional && !pointer) {
      if (Json zero = zero_of(field.kind); !zero.is_null()) schema["default"] = std::move(zero);
    }
    return schema;
  }

  Json list(const api::FieldInfo& field, bool with_rules) {
    Json schema = Json::object({{"type", "array"}, {"items", value(field)}});
    if (!with_rules) return schema;
    if (field.list_type == api::ListType::Atomic) schema["x-kubernetes-list-type"] = "atomic";
    if (field.list_type == api::ListType::Set) schema["x-kubernetes-list-type"] = "set";
    if (field.list_type == api::ListType::Map) {
      Json keys = Json::array();
      api::for_each_listed(field.map_keys, [&](std::string_view key) { keys.as_array().emplace_back(key); });
      schema["x-kubernetes-list-map-keys"] = std::move(keys);
      schema["x-kubernetes-list-type"] = "map";
    }
    if (!field.merge_key.empty()) schema["x-kubernetes-patch-merge-key"] = field.merge_key;
    if (const std::string strategy = patch_strategy(field); !strategy.empty())
      schema["x-kubernetes-patch-strategy"] = strategy;
    return schema;
  }

  static std::string patch_strategy(const api::FieldInfo& field) {
    std::string text;
    const auto add = [&](api::FieldFlag flag, const char* word) {
      if (field.is(flag)) text.append(text.empty() ? "" : ",").append(word);
    };
    add(api::kPatchMerge, "merge");
    add(api::kPatchReplace, "replace");
    add(api::kPatchRetainKeys, "retainKeys");
    return text;
  }

  static Json zero_of(api::ValueKind kind) {
    switch (kind) {
      case api::ValueKind::String:
        return "";
      case api::ValueKind::Bool:
        return false;
      case api::ValueKind::Int32:
      case api::ValueKind::Int64:
      case api::ValueKind::Double:
        return 0;
      default:
        return Json();
    }
  }

  // One value, without its list or map.
  Json value(const api::FieldInfo& field) {
    if (const NamedScalar* row = named_scalar(field.kind)) {
      found_.try_emplace(std::string(row->name), named_schema(*row));
      return Json::object({{"$ref", reference(row->name)}});
    }
    switch (field.kind) {
      case api::ValueKind::String:
        return Json::object({{"type", "string"}});
      case api::ValueKind::Bytes:
        return Json::object({{"type", "string"}, {"format", "byte"}});
      case api::ValueKind::Bool:
        return Json::object({{"type", "boolean"}});
      case api::ValueKind::Int32:
        return Json::object({{"type", "integer"}, {"format", "int32"}});
      case api::ValueKind::Int64:
        return Json::object({{"type", "integer"}, {"format", "int64"}});
      case api::ValueKind::Double:
        return Json::object({{"type", "number"}, {"format", "double"}});
      case api::ValueKind::Message:
        waiting_.push_back(&field.type());
        return Json::object({{"$ref", reference(schema_name(field.type()))}});
      default:
        return Json::object();  // the unions of CRD schemas: anything
    }
  }

  const api::Gates& gates_;
  std::map<std::string, Json> found_;
  std::vector<const api::TypeInfo*> waiting_;
};

}  // namespace

namespace {

std::string dots_to_commas(std::string_view text) {
  std::string out(text);
  std::replace(out.begin(), out.end(), '.', ',');
  return out;
}

Json kind_mark(const api::ResourceInfo& resource, std::string_view kind) {
  return Json::array(
      {Json::object({{"group", resource.group}, {"kind", kind}, {"version", resource.version}})});
}

Json referred(std::string_view name) {
  return Json::object({{"$ref", reference(name)}});
}

Json list_schema_of(const api::ResourceInfo& resource) {
  const std::string kind = list_kind_of(resource);
  const Json text = Json::object({{"type", "string"}});
  Json items =
      Json::object({{"type", "array"},
                    {"items", Json::object({{"allOf", Json::array({referred(schema_name(resource))})}})}});
  Json metadata = Json::object({{"allOf", Json::array({referred(std::string(kMetaSchemas) + "ListMeta")})}});
  return Json::object({{"type", "object"},
                       {"required", Json::array({"items"})},
                       {"properties", Json::object({{"apiVersion", text},
                                                    {"items", std::move(items)},
                                                    {"kind", text},
                                                    {"metadata", std::move(metadata)}})},
                       {"x-kubernetes-group-version-kind", kind_mark(resource, kind)}});
}

// The schema of a definition, with the members that every object has.
Json custom_schema_of(const api::ResourceInfo& resource) {
  Json schema = crd::served_version(resource)->open_api;
  Json properties = Json::object(
      {{"apiVersion", Json::object({{"type", "string"}})},
       {"kind", Json::object({{"type", "string"}})},
       {"metadata",
        Json::object({{"allOf", Json::array({Json::object(
                                    {{"$ref", reference(std::string(kMetaSchemas) + "ObjectMeta")}})})}})}});
  for (JsonMember& member : properties.as_object()) describe(member.value, kOfObject, member.key);
  if (const Json& given = std::as_const(schema).part("properties"); given.is_object())
    for (const JsonMember& member : given.as_object())
      if (member.key != "metadata") properties[member.key] = member.value;
  schema["properties"] = std::move(properties);
  schema["x-kubernetes-group-version-kind"] = kind_mark(resource, resource.kind);
  return schema;
}

}  // namespace

std::string schema_name(const api::TypeInfo& type) {
  const std::string tail = "." + std::string(type.version) + "." + std::string(type.name);
  if (type.group == "meta.k8s.io") return std::string(kMetaSchemas) + std::string(type.name);
  if (type.group == "apiextensions.k8s.io")
    return "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions" + tail;
  if (type.group == "metrics.k8s.io") return "io.k8s.metrics.pkg.apis.metrics" + tail;
  if (type.group == api::kBerthGroup) return "dev.berth.scheduling" + tail;
  if (type.group == "internal.apiserver.k8s.io") return "io.k8s.api.apiserverinternal" + tail;
  const std::string_view package = type.group.substr(0, type.group.find('.'));
  return "io.k8s.api." + std::string(package.empty() ? "core" : package) + tail;
}

std::string schema_name(const api::ResourceInfo& resource) {
  if (!resource.custom) return schema_name(resource.type());
  std::string name;
  api::for_each_listed(dots_to_commas(resource.group), [&](std::string_view part) {
    name = std::string(part) + (name.empty() ? "" : "." + name);
  });
  return name + "." + std::string(resource.version) + "." + std::string(resource.kind);
}

std::string list_schema_name(const api::ResourceInfo& resource) {
  if (!resource.custom) return schema_name(resource) + "List";
  const std::string name = schema_name(resource);
  return name.substr(0, name.size() - resource.kind.size()) + list_kind_of(resource);
}

Json schemas_of(std::span<const api::ResourceInfo* const> resources, const api::Gates& gates) {
  Schemas schemas(gates);
  for (std::string_view type : {"ObjectMeta", "ListMeta", "Status", "DeleteOptions"})
    schemas.add(*api::find_type("meta.k8s.io", "v1", type));
  for (const api::ResourceInfo* resource : resources)
    if (!resource->custom) schemas.add(resource->type());
  Json all = std::move(schemas).take();
  for (const api::ResourceInfo* resource : resources) {
    if (resource->custom) all[schema_name(*resource)] = custom_schema_of(*resource);
    if (has_verb(*resource, "list")) all[list_schema_name(*resource)] = list_schema_of(*resource);
  }
  all[std::string(kMetaSchemas) + "Patch"] = Json::object({{"type", "object"}});
  return all;
}

Json api_info() {
  return Json::object({{"title", "Kubernetes"}, {"version", "v1.37.0"}});
}

}  // namespace berth::server
