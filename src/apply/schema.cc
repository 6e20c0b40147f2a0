#include "apply/schema.h"

#include <algorithm>
#include <set>

#include "api/field_error.h"

namespace berth::apply {
namespace {

using api::FieldInfo;
using api::ListType;
using api::Shape;
using api::ValueKind;

// The value of a key field that an item leaves out, as Kubernetes' OpenAPI has it: zero where Go always
// writes the field; else the field stays out of the key.
std::optional<Json> default_of_key(const FieldInfo& key) {
  if (key.json == "protocol")
    return Json("TCP");  // of ports, the only key fields with a default of their own
  if (key.is(api::kOmitEmpty) || key.is(api::kPointer)) return std::nullopt;
  return key.kind == ValueKind::String ? Json("") : Json(0);
}

// Go's %#v of a decoded value.
std::string go_syntax(const Json& value) {
  if (value.is_null()) return "interface {}(nil)";
  if (!value.is_array() && !value.is_object()) return to_string(value);
  std::string parts;
  if (value.is_array()) {
    for (const Json& item : value.as_array()) parts += (parts.empty() ? "" : ", ") + go_syntax(item);
    return "[]interface {}{" + parts + "}";
  }
  for (const JsonMember& member : value.as_object())
    parts += (parts.empty() ? "" : ", ") + to_string(Json(member.key)) + ":" + go_syntax(member.value);
  return "map[string]interface {}{" + parts + "}";
}

std::string shown(const Json& value) {
  return "&value.valueUnstructured{Value:" + go_syntax(value) + "}";
}

// Go's %v of the same.
std::string shown_plainly(const Json& value) {
  return value.is_string() ? "&{" + value.as_string() + "}" : "&{" + to_string(value) + "}";
}

bool is_any_scalar(const Json& value) {
  return value.is_number() || value.is_string() || value.is_bool();
}

const crd::Schema& any_schema() {
  static const crd::Schema kAny;
  return kAny;
}

const crd::Schema& text_schema() {
  static const crd::Schema kText = [] {
    crd::Schema schema;
    schema.type = crd::Schema::Type::String;
    return schema;
  }();
  return kText;
}

}  // namespace

Schema::Schema(const crd::Schema* custom, bool is_resource)
    : type_(nullptr),
      field_(nullptr),
      is_item_(false),
      custom_(custom ? custom : &any_schema()),
      is_resource_(is_resource || custom_->embedded) {}

Form Schema::custom_form() const {
  using Type = crd::Schema::Type;
  if (custom_->type == Type::Array) {
    if (custom_->list == crd::Schema::List::Set) return Form::Set;
    return custom_->list == crd::Schema::List::Map ? Form::Items : Form::Leaf;
  }
  if (custom_->type != Type::Object || custom_->atomic_map) return Form::Leaf;
  if (custom_->additional || custom_->takes_any_member) return Form::Map;
  const bool is_free = custom_->keeps_unknown && custom_->properties.empty() && !is_resource_;
  return is_free ? Form::Leaf : Form::Struct;
}

std::optional<Schema> Schema::custom_member(std::string_view key) const {
  if (is_resource_ && key == "metadata")
    return Schema::of(*api::find_type("meta.k8s.io", "v1", "ObjectMeta"));
  if (is_resource_ && (key == "kind" || key == "apiVersion")) return Schema(&text_schema(), false);
  if (const crd::Schema* below = custom_->member(key)) return Schema(below, false);
  const bool open = custom_->keeps_unknown || custom_->takes_any_member;
  return open ? std::optional(Schema(&any_schema(), false)) : std::nullopt;
}

// What tells the items of a list apart, comma separated.
std::string_view Schema::keys_text(std::string& text) const {
  if (!custom_) return field_->map_keys;
  for (const std::string& key : custom_->map_keys) text += (text.empty() ? "" : ",") + key;
  return text;
}

// The value of a key that an item leaves out.
std::optional<Json> Schema::key_default(std::string_view name) const {
  if (!custom_) {
    const FieldInfo* key = field_->type().field_by_json(name);
    return key ? default_of_key(*key) : std::nullopt;
  }
  const crd::Schema* key = custom_->items ? custom_->items->property(name) : nullptr;
  return key ? key->fallback : std::nullopt;
}

bool Schema::is_list() const {
  if (custom_) return custom_->type == crd::Schema::Type::Array;
  return field_ && !is_item_ && field_->shape == Shape::List;
}

bool Schema::is_map() const {
  if (custom_) return custom_->type == crd::Schema::Type::Object;
  return field_ && !is_item_ && (field_->shape == Shape::Map || field_->shape == Shape::MapOfLists);
}

// Null for a value without fields.
const api::TypeInfo* Schema::struct_type() const {
  if (type_) return type_;
  if (is_list() || is_map() || field_->shape == Shape::MapOfLists) return nullptr;
  return field_->kind == ValueKind::Message ? &field_->type() : nullptr;
}

Form Schema::form() const {
  if (custom_) return custom_form();
  if (is_list()) {
    if (field_->list_type == ListType::Set) return Form::Set;
    return field_->list_type == ListType::Map ? Form::Items : Form::Leaf;
  }
  const bool atomic = field_ && !is_item_ && field_->is(api::kAtomicValue);
  if (is_map()) return atomic ? Form::Leaf : Form::Map;
  const api::TypeInfo* type = struct_type();
  if (!type || atomic || type->is(api::kAtomicStruct)) return Form::Leaf;
  return Form::Struct;
}

std::optional<Schema> Schema::member(std::string_view key) const {
  if (custom_) return custom_member(key);
  if (is_map()) return Schema(nullptr, field_, true);
  const api::TypeInfo* type = struct_type();
  const FieldInfo* field = type ? type->field_by_json(key) : nullptr;
  if (!field) return std::nullopt;
  return Schema(nullptr, field, false);
}

Result<PathElement> Schema::element_of(const Json& item) const {
  if (form() == Form::Items) return key_of(item);
  if (is_any_scalar(item)) return PathElement{PathElement::Type::Value, {}, item};
  const std::string_view what =
      item.is_object() ? "associative list without keys has an element that's a map type"
      : item.is_null() ? "associative list without keys has an element that's an explicit null"
                       : "not supported: associative list with lists as elements";
  return Error(ErrorCode::Invalid, std::string(what));
}

Result<PathElement> Schema::key_of(const Json& item) const {
  if (item.is_null())
    return Error(ErrorCode::Invalid, "associative list with keys may not have a null element");
  if (!item.is_object())
    return Error(ErrorCode::Invalid, "associative list with keys may not have non-map elements");
  JsonObject::Members keys;
  std::string names, text;
  api::for_each_listed(keys_text(text), [&](std::string_view name) {
    names += (names.empty() ? "\"" : " \"") + std::string(name) + "\"";
    if (const Json* value = item.find(name)) return keys.push_back({std::string(name), *value});
    if (std::optional<Json> value = key_default(name)) keys.push_back({std::string(name), *std::move(value)});
  });
  if (keys.empty())
    return Error(ErrorCode::Invalid, "associative list with keys has an element that omits all key fields [" +
                                         names + "] (and doesn't have default values for any key fields)");
  std::sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return PathElement{PathElement::Type::Key, {}, Json(JsonObject(std::move(keys)))};
}

std::string Schema::problem_of(const Json& value) const {
  std::vector<std::string> errors;
  add_errors(value, "", errors);
  if (errors.size() == 1) return errors.front();
  std::string text;
  for (const std::string& error : errors) text += (text.empty() ? "errors:\n  " : "\n  ") + error;
  return text;
}

void Schema::add_errors(const Json& value, const std::string& path, std::vector<std::string>& errors) const {
  if (value.is_null()) return;
  if (is_list()) return add_list_errors(value, path, errors);
  if (custom_ && !is_map()) return add_custom_errors(value, path, errors);
  if (is_map() || struct_type()) return add_map_errors(value, path, errors);
  add_scalar_errors(value, path, errors);
}

void Schema::add_custom_errors(const Json& value, const std::string& path,
                               std::vector<std::string>& errors) const {
  using Type = crd::Schema::Type;
  if (custom_->int_or_string) {
    if (!is_any_scalar(value)) errors.push_back(path + ": expected any scalar, got " + shown_plainly(value));
    return;
  }
  if (custom_->type == Type::Boolean && !value.is_bool())
    errors.push_back(path + ": expected boolean, got " + shown_plainly(value));
  if ((custom_->type == Type::Integer || custom_->type == Type::Number) && !value.is_number())
    errors.push_back(path + ": expected numeric (int or float), got " + std::string(api::go_type_of(value)));
  if (custom_->type == Type::String && !value.is_string())
    errors.push_back(path + ": expected string, got " + shown(value));
}

void Schema::add_scalar_errors(const Json& value, const std::string& path,
                               std::vector<std::string>& errors) const {
  switch (field_->kind) {
    case ValueKind::RawJson:
    case ValueKind::FieldsV1:
    case ValueKind::Message:
    case ValueKind::SchemaOrArray:
    case ValueKind::SchemaOrBool:
    case ValueKind::SchemaOrStrings:
      return;
    case ValueKind::Bool:
      if (!value.is_bool()) errors.push_back(path + ": expected boolean, got " + shown_plainly(value));
      return;
    case ValueKind::Int32:
    case ValueKind::Int64:
    case ValueKind::Double:
      if (!value.is_number())
        errors.push_back(path + ": expected numeric (int or float), got " +
                         std::string(api::go_type_of(value)));
      return;
    case ValueKind::String:
    case ValueKind::Bytes:
      if (!value.is_string()) errors.push_back(path + ": expected string, got " + shown(value));
      return;
    case ValueKind::Quantity:
    case ValueKind::Time:
    case ValueKind::MicroTime:
    case ValueKind::Duration:
    case ValueKind::IntOrString:
      if (!is_any_scalar(value))
        errors.push_back(path + ": expected any scalar, got " + shown_plainly(value));
  }
}

void Schema::add_list_errors(const Json& list, const std::string& path,
                             std::vector<std::string>& errors) const {
  if (!list.is_array()) return errors.push_back(path + ": expected list, got " + shown_plainly(list));
  const bool told_apart = form() == Form::Set || form() == Form::Items;
  std::set<PathElement> seen;
  for (std::size_t at = 0; at < list.as_array().size(); ++at) {
    const Json& value = list.as_array()[at];
    PathElement element{PathElement::Type::Index, {}, static_cast<std::int64_t>(at)};
    if (told_apart) {
      Result<PathElement> found = element_of(value);
      if (!found) {
        errors.push_back(path + ": element " + std::to_string(at) + ": " +
                         std::string(found.error().message()));
        return;
      }
      element = std::move(found).value();
      if (!seen.insert(element).second)
        errors.push_back(path + ": duplicate entries for key " + element.text());
    }
    item().add_errors(value, path + element.text(), errors);
  }
}

void Schema::add_map_errors(const Json& map, const std::string& path,
                            std::vector<std::string>& errors) const {
  if (!map.is_object()) return errors.push_back(path + ": expected map, got " + shown_plainly(map));
  for (const JsonMember& entry : map.as_object()) {
    const std::string below = path + "." + entry.key;
    const std::optional<Schema> schema = member(entry.key);
    if (!schema) {
      errors.push_back(below + ": field not declared in schema");
      return;
    }
    schema->add_errors(entry.value, below, errors);
  }
}

}  // namespace berth::apply
