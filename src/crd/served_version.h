// What a stored CustomResourceDefinition serves: its names, and each version with schema, columns and
// subresources.
//
// Immutable, shared by threads: everything that handles an object of the resource holds the definition it
// began with. Cost of making one: linear in the schemas, plus compilation of their patterns and rules.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/custom_version.h"
#include "api/type_table.h"
#include "base/json.h"
#include "crd/conversion_review.h"
#include "crd/json_path.h"
#include "crd/schema.h"

namespace berth::crd {

class RuleSet;
struct Definition;

struct Column {
  std::string name, type, format, description;
  int priority = 0;
  JsonPath path;
};

// Members on the way to a value, and the path as it is written.
struct MemberPath {
  std::vector<std::string> members;
  std::string text;
};

struct ScalePaths {
  MemberPath replicas, status_replicas;
  std::optional<MemberPath> selector;
};

struct SelectableField {
  std::string name;  // "spec.color"
  std::vector<std::string> members;
};

struct ServedVersion final : api::CustomVersion {
  const Definition* definition = nullptr;
  std::string name;
  std::string deprecation;  // the warning of a deprecated version
  Schema schema;
  Json open_api;  // the schema as it was given
  std::size_t open_api_bytes = 0;
  bool has_status = false;
  std::optional<ScalePaths> scale;
  std::vector<Column> columns;
  std::vector<SelectableField> selectable;
  std::shared_ptr<const RuleSet> rules;
  api::ResourceInfo row;  // views into this and the definition
  std::string subresources;

  const api::ResourceInfo& storage_row() const override;
  std::string_view list_kind() const override;
  std::string_view deprecation_warning() const override { return deprecation; }
};

struct Definition {
  std::string name, uid, group;
  std::int64_t generation = 0;
  std::string plural, singular, kind, list_kind, short_names, categories;  // accepted
  Json accepted;  // the names as they stand in the status
  Json spec;      // all of it
  bool namespaced = false;
  bool terminating = false;
  // Whether objects may be stored that another schema has shaped: an earlier one, or another version's.
  bool has_other_shapes = false;
  std::optional<ConversionWebhook> webhook;                    // that converts between its versions
  std::vector<std::shared_ptr<const ServedVersion>> versions;  // in discovery's order; those that are served
  std::vector<std::shared_ptr<const ServedVersion>> retired;   // neither served nor stored any more
  // The version in which objects are stored; it may be one that is not served.
  std::shared_ptr<const ServedVersion> storage;
};

// `crd` is stored, so valid; `accepted` are status.acceptedNames. Null for one without schemas.
std::shared_ptr<const Definition> read_definition(const Json& crd, const Json& accepted);

// What made the row of a custom resource; null for a row of the type table.
inline const ServedVersion* served_version(const api::ResourceInfo& row) {
  return static_cast<const ServedVersion*>(row.custom);
}

// The version that an object says it has ("ex.io/v1"), served or not; null for one that nothing is known of.
const ServedVersion* find_version(const Definition& definition, std::string_view api_version);

// Whether clients of one see the other's objects in the same way. Deletion of the definition changes nothing
// until it is over.
bool is_same_resource(const Definition& a, const Definition& b);

// Of versions like v1, v1beta1 and others: the order of discovery, the most stable first.
bool comes_before(std::string_view a, std::string_view b);

// ".spec.replicas" as members.
MemberPath member_path(std::string_view text);
const Json* value_at(const Json& object, const std::vector<std::string>& members);

}  // namespace berth::crd
