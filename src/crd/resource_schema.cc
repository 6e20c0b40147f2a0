#include "crd/resource_schema.h"

#include <algorithm>

namespace berth::crd {
namespace {

using api::ValueKind;

Schema scalar(Schema::Type type, std::string_view format = "") {
  Schema schema;
  schema.type = type;
  schema.format = format;
  return schema;
}

void sort_by_name(std::vector<Property>& properties) {
  std::sort(properties.begin(), properties.end(),
            [](const Property& a, const Property& b) { return a.name < b.name; });
}

// Expands the types of the table, each in its place.
class TypeExpander {
 public:
  Schema of(const api::TypeInfo& type) {
    Schema schema = scalar(Schema::Type::Object);
    if (std::find(open_.begin(), open_.end(), &type) != open_.end()) return schema;
    open_.push_back(&type);
    for (const api::FieldInfo& field : type.fields())
      schema.properties.push_back({std::string(field.json), of_field(field)});
    open_.pop_back();
    sort_by_name(schema.properties);
    return schema;
  }

 private:
  Schema of_field(const api::FieldInfo& field) {
    Schema value = of_value(field);
    if (field.shape == api::Shape::List || field.shape == api::Shape::MapOfLists) {
      Schema list = scalar(Schema::Type::Array);
      list.items = std::make_unique<Schema>(std::move(value));
      value = std::move(list);
    }
    if (field.shape == api::Shape::One || field.shape == api::Shape::List) return value;
    Schema map = scalar(Schema::Type::Object);
    map.additional = std::make_unique<Schema>(std::move(value));
    return map;
  }

  Schema of_value(const api::FieldInfo& field) {
    switch (field.kind) {
      case ValueKind::String:
      case ValueKind::Duration:
        return scalar(Schema::Type::String);
      case ValueKind::Bool:
        return scalar(Schema::Type::Boolean);
      case ValueKind::Int32:
      case ValueKind::Int64:
        return scalar(Schema::Type::Integer);
      case ValueKind::Double:
        return scalar(Schema::Type::Number);
      case ValueKind::Bytes:
        return scalar(Schema::Type::String, "byte");
      case ValueKind::Time:
      case ValueKind::MicroTime:
        return scalar(Schema::Type::String, "date-time");
      case ValueKind::RawJson:
      case ValueKind::FieldsV1:
        return scalar(Schema::Type::Object);
      case ValueKind::Message:
        return of(field.type());
      case ValueKind::Quantity:
      case ValueKind::IntOrString:
      case ValueKind::SchemaOrArray:
      case ValueKind::SchemaOrBool:
      case ValueKind::SchemaOrStrings:
        break;
    }
    return {};
  }

  std::vector<const api::TypeInfo*> open_;
};

}  // namespace

Schema schema_of_type(const api::TypeInfo& type) {
  return TypeExpander().of(type);
}

Schema schema_of_custom(const Json& props) {
  Schema schema = read_schema(props);
  std::erase_if(schema.properties, [](const Property& property) {
    return property.name == "kind" || property.name == "apiVersion" || property.name == "metadata";
  });
  schema.properties.push_back({"kind", scalar(Schema::Type::String)});
  schema.properties.push_back({"apiVersion", scalar(Schema::Type::String)});
  schema.properties.push_back(
      {"metadata", schema_of_type(*api::find_type("meta.k8s.io", "v1", "ObjectMeta"))});
  sort_by_name(schema.properties);
  return schema;
}

}  // namespace berth::crd
