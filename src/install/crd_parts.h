// The parts of Berth's CustomResourceDefinitions: schema of a type, restrictions, CEL rules, names.
//
// Pure, any thread. Only crd*.cc include this.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "api/type_table.h"
#include "install/crd.h"

namespace berth::install {

inline constexpr std::string_view kCrdVersion = "v1alpha1";

enum class Limit : std::uint8_t {
  Subdomain,            // of DNS
  Label,                // of DNS
  Text,                 // 1 to `most` characters
  LengthMax,            // `most` characters
  ItemsMax,             // `most` items
  NotNegative,          // 0 or more
  Positive,             // 1 or more
  OneOf,                // `words`, comma separated
  OneOfOrNone,          // the same, or empty
  Duration,             // as Go writes it, or empty
  QualifiedName,        // "prefix/name" or "name": the key of a label
  QualifiedNameOrNone,  // the same, or empty
  Pattern,              // `words`, and at most `most` characters
};

// Where a schema is restricted. A path names members; `[]` steps into the items of a list.
struct Bound {
  std::string_view path;
  Limit limit;
  std::int64_t most = 0;
  std::string_view words = {};
};

// Restricts the schema at each path. Every path names a member of the type.
void narrow(Json& schema, std::span<const Bound> bounds);
Json& schema_of_path(Json& root, std::string_view path);

Json cel_rule(std::string rule, std::string_view message, std::string_view path);
// The CEL text for an optional member, with a size that the API server can bound: optionals have none.
std::string member_or(std::string_view owner, std::string_view name, std::string_view otherwise);

// A type of scheduling.berth.dev.
const api::TypeInfo& own_type(std::string_view name);

struct Definition {
  std::string_view plural;
  std::span<const PrinterColumn> columns;
  Json schema;
  Json selectable_fields = Json();  // null: none
};
// Has the status subresource where the type table has it.
Json definition_object(Definition definition);

}  // namespace berth::install
