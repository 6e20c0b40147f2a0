// An OpenAPI v2 document as gnostic's protobuf. Source: github.com/google/gnostic-models, OpenAPIv2.proto.
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

#include "api/protobuf_wire.h"
#include "server/openapi_v2.h"

namespace berth::server {
namespace {

using api::append_bytes_field;
using api::append_fixed64_field;
using api::append_varint_field;

// A field whose value is one member as it is.
struct PlainField {
  std::string_view member;
  std::uint32_t number;
};

constexpr PlainField kSchemaFields[] = {{"$ref", 1},
                                        {"format", 2},
                                        {"title", 3},
                                        {"description", 4},
                                        {"multipleOf", 6},
                                        {"maximum", 7},
                                        {"exclusiveMaximum", 8},
                                        {"minimum", 9},
                                        {"exclusiveMinimum", 10},
                                        {"maxLength", 11},
                                        {"minLength", 12},
                                        {"pattern", 13},
                                        {"maxItems", 14},
                                        {"minItems", 15},
                                        {"uniqueItems", 16},
                                        {"maxProperties", 17},
                                        {"minProperties", 18},
                                        {"required", 19}};
constexpr PlainField kOperationFields[] = {{"tags", 1},        {"summary", 2},  {"description", 3},
                                           {"operationId", 5}, {"produces", 6}, {"consumes", 7},
                                           {"schemes", 10}};
constexpr PlainField kBodyFields[] = {{"description", 1}, {"name", 2}, {"in", 3}, {"required", 4}};
constexpr PlainField kPathFields[] = {{"required", 1}, {"in", 2},     {"description", 3}, {"name", 4},
                                      {"type", 5},     {"format", 6}, {"uniqueItems", 19}};
constexpr PlainField kQueryFields[] = {{"required", 1}, {"in", 2},     {"description", 3}, {"name", 4},
                                       {"type", 6},     {"format", 7}, {"uniqueItems", 20}};
constexpr PlainField kMethodFields[] = {{"get", 2}, {"put", 3}, {"post", 4}, {"delete", 5}, {"patch", 8}};
constexpr PlainField kInfoFields[] = {{"title", 1}, {"version", 2}};

// Numbers of a schema that are doubles; the other ones are integers.
bool is_double(std::string_view member) {
  return member == "multipleOf" || member == "maximum" || member == "minimum";
}

// A message in a field: `write` appends its fields.
template <class Write>
void nested(std::string& out, std::uint32_t number, Write write) {
  const std::size_t begin = api::begin_bytes_field(out, number);
  write();
  api::end_bytes_field(out, begin);
}

void write_plain(std::string& out, const Json& object, std::span<const PlainField> fields) {
  for (const PlainField& field : fields) {
    const Json* value = object.find(field.member);
    if (!value) continue;
    if (value->is_string()) append_bytes_field(out, field.number, value->as_string());
    if (value->is_bool() && value->as_bool()) append_varint_field(out, field.number, 1);
    if (value->is_number() && is_double(field.member))
      append_fixed64_field(out, field.number, std::bit_cast<std::uint64_t>(value->as_double()));
    else if (value->is_int())
      append_varint_field(out, field.number, static_cast<std::uint64_t>(value->as_int()));
    if (value->is_array())
      for (const Json& item : value->as_array()) append_bytes_field(out, field.number, item.as_string());
  }
}

// A message Any: JSON is YAML.
void write_any(std::string& out, std::uint32_t number, const Json& value) {
  nested(out, number, [&] { append_bytes_field(out, 2, to_string(value)); });
}

void write_extensions(std::string& out, std::uint32_t number, const Json& object) {
  for (const JsonMember& member : object.as_object())
    if (member.key.starts_with("x-"))
      nested(out, number, [&] {
        append_bytes_field(out, 1, member.key);
        write_any(out, 2, member.value);
      });
}

void write_schema(std::string& out, const Json& schema);

// Named schemas, each a message {name = 1, value = 2} in field 1.
void write_named_schemas(std::string& out, std::uint32_t number, const Json& schemas) {
  nested(out, number, [&] {
    for (const JsonMember& member : schemas.as_object())
      nested(out, 1, [&] {
        append_bytes_field(out, 1, member.key);
        nested(out, 2, [&] { write_schema(out, member.value); });
      });
  });
}

void write_schema(std::string& out, const Json& schema) {
  write_plain(out, schema, kSchemaFields);
  if (const Json* value = schema.find("default")) write_any(out, 5, *value);
  for (const Json& choice : schema.items_at("enum")) write_any(out, 20, choice);
  if (const Json* other = schema.find("additionalProperties"))
    nested(out, 21, [&] {
      if (other->is_bool())
        append_varint_field(out, 2, other->as_bool() ? 1 : 0);
      else
        nested(out, 1, [&] { write_schema(out, *other); });
    });
  if (const std::string_view type = schema.string_at("type"); !type.empty())
    nested(out, 22, [&] { append_bytes_field(out, 1, type); });
  if (const Json* items = schema.find("items"))
    nested(out, 23, [&] { nested(out, 1, [&] { write_schema(out, *items); }); });
  if (const Json* properties = schema.find("properties")) write_named_schemas(out, 25, *properties);
  if (const Json* example = schema.find("example")) write_any(out, 30, *example);
  write_extensions(out, 31, schema);
}

// ParametersItem{parameter = 1}, Parameter{body = 1, non-body = 2}, NonBodyParameter{query = 3, path = 4}.
void write_parameter(std::string& out, std::uint32_t number, const Json& parameter) {
  nested(out, number, [&] {
    nested(out, 1, [&] {
      const std::string_view place = parameter.string_at("in");
      if (place == "body")
        return nested(out, 1, [&] {
          write_plain(out, parameter, kBodyFields);
          nested(out, 5, [&] { write_schema(out, parameter.part("schema")); });
        });
      const bool in_path = place == "path";
      nested(out, 2, [&] {
        nested(out, in_path ? 4 : 3, [&] {
          write_plain(out, parameter, in_path ? std::span(kPathFields) : std::span(kQueryFields));
        });
      });
    });
  });
}

// NamedResponseValue{name = 1, value = 2}, ResponseValue{response = 1}, Response{schema = 2},
// SchemaItem{schema = 1}.
void write_response(std::string& out, const std::string& code, const Json& response) {
  nested(out, 1, [&] {
    append_bytes_field(out, 1, code);
    nested(out, 2, [&] {
      nested(out, 1, [&] {
        append_bytes_field(out, 1, response.string_at("description"));
        if (const Json* schema = response.find("schema"))
          nested(out, 2, [&] { nested(out, 1, [&] { write_schema(out, *schema); }); });
      });
    });
  });
}

void write_operation(std::string& out, const Json& operation) {
  write_plain(out, operation, kOperationFields);
  for (const Json& parameter : operation.items_at("parameters")) write_parameter(out, 8, parameter);
  nested(out, 9, [&] {
    for (const JsonMember& response : operation.part("responses").as_object())
      write_response(out, response.key, response.value);
  });
  write_extensions(out, 13, operation);
}

void write_path_item(std::string& out, const Json& item) {
  for (const PlainField& method : kMethodFields)
    if (const Json* operation = item.find(method.member))
      nested(out, method.number, [&] { write_operation(out, *operation); });
  for (const Json& parameter : item.items_at("parameters")) write_parameter(out, 9, parameter);
}

}  // namespace

std::string openapi_v2_protobuf(const Json& document) {
  std::string out;
  append_bytes_field(out, 1, document.string_at("swagger"));
  nested(out, 2, [&] { write_plain(out, document.part("info"), kInfoFields); });
  nested(out, 8, [&] {
    for (const JsonMember& item : document.part("paths").as_object())
      nested(out, 2, [&] {
        append_bytes_field(out, 1, item.key);
        nested(out, 2, [&] { write_path_item(out, item.value); });
      });
  });
  write_named_schemas(out, 9, document.part("definitions"));
  return out;
}

}  // namespace berth::server
