#include "server/openapi_v2.h"

#include <algorithm>
#include <vector>

#include "crd/served_version.h"
#include "server/openapi_operations.h"
#include "server/openapi_schema.h"

namespace berth::server {
namespace {

constexpr std::string_view kSchemasV3 = "#/components/schemas/";
constexpr std::string_view kSchemasV2 = "#/definitions/";

Json referred_v2(std::string_view reference) {
  if (reference.starts_with(kSchemasV3)) reference.remove_prefix(kSchemasV3.size());
  return Json::object({{"$ref", std::string(kSchemasV2) + std::string(reference)}});
}

// Members of a schema that version 2 does not know. Defaults of Kubernetes' own types are not published.
enum class Defaults { Drop, Keep };
bool is_left_out(std::string_view member, Defaults defaults) {
  for (std::string_view name : {"oneOf", "anyOf", "not", "allOf", "nullable"})
    if (member == name) return true;
  return member == "default" && defaults == Defaults::Drop;
}

Json schema_v2(const Json& schema, Defaults defaults);

Json each_schema_v2(const Json& named, Defaults defaults) {
  Json made = Json::object();
  for (const JsonMember& member : named.as_object()) made[member.key] = schema_v2(member.value, defaults);
  return made;
}

Json schema_v2(const Json& schema, Defaults defaults) {
  if (!schema.is_object()) return schema;  // additionalProperties: true
  if (const JsonArray& all = schema.items_at("allOf"); !all.empty() && all.front().find("$ref")) {
    Json made = referred_v2(all.front().string_at("$ref"));
    if (const Json* text = schema.find("description")) made["description"] = *text;
    return made;
  }
  if (schema.find("$ref")) return referred_v2(schema.string_at("$ref"));
  Json made = Json::object();
  for (const JsonMember& member : schema.as_object()) {
    if (is_left_out(member.key, defaults)) continue;
    const bool named = member.key == "properties" && member.value.is_object();
    const bool below = member.key == "items" || member.key == "additionalProperties";
    made[member.key] = named   ? each_schema_v2(member.value, defaults)
                       : below ? schema_v2(member.value, defaults)
                               : member.value;
  }
  return made;
}

// A quantity or int-or-string: Kubernetes calls both a string.
Json built_in_v2(const Json& schema) {
  Json made = schema_v2(schema, Defaults::Drop);
  if (schema.find("oneOf") && !made.find("type")) made["type"] = "string";
  return made;
}

void drop_required(Json& schema, const std::vector<std::string_view>& names) {
  const JsonArray given = std::as_const(schema).items_at("required");
  JsonArray kept;
  for (const Json& name : given)
    if (std::find(names.begin(), names.end(), name.as_string()) == names.end()) kept.push_back(name);
  if (kept.size() == given.size()) return;
  if (kept.empty())
    schema.as_object().erase("required");
  else
    schema["required"] = std::move(kept);
}

void add_resource_members(Json& schema) {
  const Json text = Json::object({{"type", "string"}});
  Json& properties = schema["properties"];
  if (!properties.is_object()) properties = Json::object();
  properties["apiVersion"] = text;
  properties["kind"] = text;
  properties["metadata"] = referred_v2(std::string(kMetaSchemas) + "ObjectMeta");
}

void require_member(Json& schema, std::string_view name) {
  Json& required = schema["required"];
  if (!required.is_array()) required = Json::array();
  const JsonArray& names = std::as_const(required).as_array();
  if (std::find(names.begin(), names.end(), Json(name)) == names.end())
    required.as_array().emplace_back(name);
}

// What version 2, and kubectl's reading of it, cannot say of a custom schema is left open.
Json structural_v2(const Json& schema) {
  if (!schema.is_object()) return schema;
  Json made = Json::object();
  for (const JsonMember& member : schema.as_object())
    if (!is_left_out(member.key, Defaults::Keep)) made[member.key] = member.value;
  const bool nullable = schema.bool_at("nullable"),
             open = schema.bool_at("x-kubernetes-preserve-unknown-fields");
  if (nullable || open)
    for (std::string_view name : {"items", "properties"}) made.as_object().erase(name);
  const std::string_view type = schema.string_at("type");
  const bool untyped =
      nullable || (type == "array" && !std::as_const(made).find("items")) || (open && type == "object");
  if (untyped) made.as_object().erase("type");
  if (Json* properties = made.find("properties"); properties && properties->is_object()) {
    std::vector<std::string_view> nullables;
    for (const JsonMember& member : schema.part("properties").as_object())
      if (member.value.bool_at("nullable")) nullables.push_back(member.key);
    drop_required(made, nullables);
    for (JsonMember& member : made["properties"].as_object()) member.value = structural_v2(member.value);
  }
  if (schema.part("additionalProperties").bool_at("nullable")) made.as_object().erase("required");
  for (std::string_view name : {"items", "additionalProperties"})
    if (const Json* below = std::as_const(made).find(name)) made[name] = structural_v2(*below);
  if (schema.bool_at("x-kubernetes-embedded-resource") && !open) {
    add_resource_members(made);
    require_member(made, "kind");
    require_member(made, "apiVersion");
  }
  return made;
}

// `shown`: its v3 schema, which describes the members of every object.
Json custom_v2(const api::ResourceInfo& resource, const Json& shown) {
  const Json& given = crd::served_version(resource)->open_api;
  Json made = Json::object({{"type", "object"}});
  if (!given.bool_at("x-kubernetes-preserve-unknown-fields")) {
    made = structural_v2(given);
    for (std::string_view name : {"apiVersion", "kind", "metadata"})
      made["properties"][name] = schema_v2(shown.part("properties").part(name), Defaults::Drop);
  }
  made["x-kubernetes-group-version-kind"] = shown.part("x-kubernetes-group-version-kind");
  return made;
}

Json parameter_v2(const Json& parameter) {
  Json made = Json::object();
  for (const JsonMember& member : parameter.as_object())
    if (member.key != "schema") made[member.key] = member.value;
  for (const JsonMember& member : parameter.part("schema").as_object()) made[member.key] = member.value;
  return made;
}

Json parameters_v2(const JsonArray& parameters) {
  JsonArray made;
  for (const Json& parameter : parameters) made.push_back(parameter_v2(parameter));
  return made;
}

// The media types of a v3 body, and the schema of the first: they are the same.
Json media_types(const Json& content) {
  JsonArray types;
  for (const JsonMember& member : content.as_object()) types.emplace_back(member.key);
  return types;
}
Json schema_of_content(const Json& content) {
  return schema_v2(content.as_object().begin()->value.part("schema"), Defaults::Drop);
}

Json operation_v2(const Json& operation) {
  Json made = Json::object();
  JsonArray parameters;
  for (const JsonMember& member : operation.as_object()) {
    if (member.key == "parameters") {
      parameters = parameters_v2(member.value.as_array()).as_array();
    } else if (member.key == "requestBody") {
      const Json& content = member.value.part("content");
      Json body = Json::object({{"name", "body"}, {"in", "body"}, {"schema", schema_of_content(content)}});
      if (member.value.bool_at("required")) body["required"] = true;
      parameters.push_back(std::move(body));
      made["consumes"] = media_types(content);
    } else if (member.key == "responses") {
      Json responses = Json::object();
      for (const JsonMember& response : member.value.as_object()) {
        Json& one = responses[response.key];
        one = Json::object({{"description", response.value.string_at("description")}});
        const Json* content = response.value.find("content");
        if (!content) continue;
        one["schema"] = schema_of_content(*content);
        made["produces"] = media_types(*content);
      }
      made["responses"] = std::move(responses);
    } else {
      made[member.key] = member.value;
    }
  }
  made["schemes"] = Json::array({"https"});
  if (!parameters.empty()) made["parameters"] = std::move(parameters);
  return made;
}

Json path_item_v2(const Json& item) {
  Json made = Json::object();
  for (const JsonMember& member : item.as_object())
    made[member.key] =
        member.key == "parameters" ? parameters_v2(member.value.as_array()) : operation_v2(member.value);
  return made;
}

// Without custom resources whose schemas do not fit into the document.
std::vector<const api::ResourceInfo*> shown_rows(const ServedSet& served) {
  std::vector<const api::ResourceInfo*> rows;
  std::size_t bytes = 0;
  for (const api::ResourceInfo* row : served.rows()) {
    if (const crd::ServedVersion* custom = crd::served_version(*row)) bytes += custom->open_api_bytes;
    if (!row->custom || bytes <= kCustomSchemasBytesMax) rows.push_back(row);
  }
  return rows;
}

}  // namespace

Json openapi_v2(const ServedSet& served) {
  const std::vector<const api::ResourceInfo*> rows = shown_rows(served);
  const Json schemas = schemas_of(rows, served.gates());
  Json definitions = Json::object();
  for (const JsonMember& schema : schemas.as_object()) definitions[schema.key] = built_in_v2(schema.value);
  Json paths = Json::object();
  for (const api::ResourceInfo* row : rows) {
    if (row->custom) {
      const std::string name = schema_name(*row);
      definitions[name] = custom_v2(*row, schemas.part(name));
    }
    const Json items = path_items(*row);
    for (const JsonMember& item : items.as_object()) paths[item.key] = path_item_v2(item.value);
  }
  return Json::object({{"swagger", "2.0"},
                       {"info", api_info()},
                       {"paths", std::move(paths)},
                       {"definitions", std::move(definitions)}});
}

}  // namespace berth::server
