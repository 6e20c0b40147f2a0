// How server-side apply sees the type table, or the schema of a custom resource: which values have one owner,
// and what distinguishes list items.
//
// Views into either; pure, any thread. Source: x-kubernetes-list-type, -list-map-keys and -map-type of
// Kubernetes' OpenAPI. A value of a custom object without a schema has one owner.
#pragma once

#include <optional>
#include <string_view>

#include "api/type_table.h"
#include "apply/field_set.h"
#include "crd/schema.h"

namespace berth::apply {

enum class Form : std::uint8_t {
  Leaf,    // one owner: a scalar, or an atomic list, map or struct
  Struct,  // an owner a field
  Map,     // an owner a key
  Set,     // a list of scalars, an owner an item
  Items,   // a list of objects told apart by keys
};

// The type of a value: of a document, of a field, or of an item of a field's list or map.
class Schema {
 public:
  static Schema of(const api::TypeInfo& type) { return Schema(&type, nullptr, false); }
  // Of whole objects.
  static Schema of(const crd::Schema& schema) { return Schema(&schema, true); }

  Form form() const;
  // Of a Struct, the field's; of a Map, every key's. Nothing for a field that the type does not have.
  std::optional<Schema> member(std::string_view key) const;
  // Of a list.
  Schema item() const {
    return custom_ ? Schema(custom_->items.get(), false) : Schema(nullptr, field_, true);
  }

  // Identifies an item of a Set or Items among the others. Refuses (Invalid) an item that has no key at all.
  Result<PathElement> element_of(const Json& item) const;

  // Why the value's structure does not fit the type, with its path (".data.a: expected string, got …"): kinds
  // of values, unknown fields, keys of items, repeated items. Nothing else is checked. Empty where it fits.
  std::string problem_of(const Json& value) const;

 private:
  Schema(const api::TypeInfo* type, const api::FieldInfo* field, bool is_item)
      : type_(type), field_(field), is_item_(is_item) {}

  // A null schema is that of any value.
  Schema(const crd::Schema* custom, bool is_resource);

  Form custom_form() const;
  std::optional<Schema> custom_member(std::string_view key) const;
  std::string_view keys_text(std::string& text) const;
  std::optional<Json> key_default(std::string_view name) const;
  const api::TypeInfo* struct_type() const;
  bool is_list() const;
  bool is_map() const;
  Result<PathElement> key_of(const Json& item) const;
  void add_errors(const Json& value, const std::string& path, std::vector<std::string>& errors) const;
  void add_custom_errors(const Json& value, const std::string& path, std::vector<std::string>& errors) const;
  void add_scalar_errors(const Json& value, const std::string& path, std::vector<std::string>& errors) const;
  void add_list_errors(const Json& list, const std::string& path, std::vector<std::string>& errors) const;
  void add_map_errors(const Json& map, const std::string& path, std::vector<std::string>& errors) const;

  const api::TypeInfo* type_;    // of a document
  const api::FieldInfo* field_;  // of anything else
  bool is_item_;
  const crd::Schema* custom_ = nullptr;  // instead of both
  bool is_resource_ = false;             // kind, apiVersion and metadata are members of their own types
};

}  // namespace berth::apply
