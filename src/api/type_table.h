// The Kubernetes types as data: every member with its JSON name, protobuf number, merge rules and gate.
//
// Generated from the Go API modules by tools/typegen (generated_types.inc), plus an overlay of Berth's own
// fields (type_table_overlay.cc). One table serves JSON, protobuf, strict checks and patches. Thread-safe,
// immutable after the first call. Lookups allocate nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace berth::api {

class CustomVersion;  // custom_version.h

enum class ValueKind : std::uint8_t {
  String,
  Bool,
  Int32,
  Int64,
  Double,
  Bytes,
  Quantity,
  Time,
  MicroTime,
  Duration,
  IntOrString,
  RawJson,        // any JSON, kept as it is (RawExtension, JSON)
  FieldsV1,       // any JSON; protobuf holds its text
  Message,        // a type of this table
  SchemaOrArray,  // the unions of CRD schemas
  SchemaOrBool,
  SchemaOrStrings,
};

enum class Shape : std::uint8_t { One, List, Map, MapOfLists };
// The list type of server-side apply.
enum class ListType : std::uint8_t { None, Atomic, Set, Map };

enum FieldFlag : std::uint16_t {
  kPointer = 1 << 0,          // absent and zero differ
  kOmitEmpty = 1 << 1,        // a zero value is not written
  kOmitZero = 1 << 2,         // a struct of zero values is not written
  kOptional = 1 << 3,         // marked optional
  kPatchMerge = 1 << 4,       // strategic merge: merge the list's elements
  kPatchReplace = 1 << 5,     // strategic merge: replace the map or list
  kPatchRetainKeys = 1 << 6,  // strategic merge: the patch may list the keys to keep
  kAtomicValue = 1 << 7,      // server-side apply: a map or struct owned as one
  kItemsMessage = 1 << 8,     // protobuf wraps the list in a message with field 1
};

enum TypeFlag : std::uint8_t {
  kTopLevel = 1 << 0,       // a kind of its group version
  kHasClient = 1 << 1,      // upstream generates a client: it is a resource
  kClusterScoped = 1 << 2,  // without a namespace
  kAtomicStruct = 1 << 3,   // server-side apply owns it as one
};

// The group of Berth's own kinds.
inline constexpr std::string_view kBerthGroup = "scheduling.berth.dev";

inline constexpr std::uint16_t kNoType = 0xffff;

struct TypeInfo;

struct FieldInfo {
  std::string_view json;
  std::string_view go_type;            // the name in errors of Go's decoder
  std::string_view merge_key;          // strategic merge
  std::string_view map_keys;           // server-side apply, comma separated
  std::string_view gate;               // feature gates that own the field, comma separated
  std::uint16_t message;               // index of the type of Message and Schema… kinds
  std::uint16_t proto;                 // 0: not on the wire
  std::array<std::uint16_t, 2> embed;  // wire numbers of the embedded messages around it, outermost first
  ValueKind kind;
  Shape shape;
  ListType list_type;
  std::uint16_t flags;

  bool is(FieldFlag flag) const { return (flags & flag) != 0; }
  // The type of a Message or Schema… value.
  const TypeInfo& type() const;
};

struct TypeInfo {
  std::string_view group;  // empty for core
  std::string_view version;
  std::string_view name;  // a kind, or the Go name of a part
  std::uint16_t first_field;
  std::uint16_t field_count;
  std::uint8_t flags;

  bool is(TypeFlag flag) const { return (flags & flag) != 0; }
  // In the API's order of writing.
  std::span<const FieldInfo> fields() const;
  // Null for an unknown name. Names match exactly; the search starts at `hint`.
  const FieldInfo* field_by_json(std::string_view json, std::size_t hint = 0) const;
  // Among the fields without an embedded message around them; null for an unknown number. O(1).
  const FieldInfo* field_by_number(std::uint32_t number) const;
  // The first field, from the one at `hint` on and then from the first one, that `is_it` accepts; or null.
  template <class Is>
  const FieldInfo* find_field(std::size_t hint, Is is_it) const {
    const std::span<const FieldInfo> all = fields();
    for (std::size_t n = 0, i = hint < all.size() ? hint : 0; n < all.size();
         ++n, i = i + 1 == all.size() ? 0 : i + 1)
      if (is_it(all[i])) return &all[i];
    return nullptr;
  }
};

// "apps/v1" in its parts; the group of "v1" is empty. Views into the text.
struct GroupVersion {
  std::string_view group, version;
};
GroupVersion group_version_of(std::string_view api_version);

std::span<const TypeInfo> types();
// A kind or a part of one, "" as group for core, "meta.k8s.io" for ObjectMeta, Status, DeleteOptions…
const TypeInfo* find_type(std::string_view group, std::string_view version, std::string_view name);
// By apiVersion ("v1", "apps/v1") and kind; only top-level kinds. Option kinds exist in every version.
const TypeInfo* find_kind(std::string_view api_version, std::string_view kind);

// The resource of a URL: one row for each resource of each served version. Rows of custom resources are not
// in this table: their definitions make them (custom_version.h).
struct ResourceInfo {
  std::string_view group;
  std::string_view version;
  std::string_view plural;
  std::string_view singular;
  std::string_view kind;
  bool namespaced;
  std::string_view short_names;           // comma separated
  std::string_view categories;            // comma separated
  std::string_view subresources;          // comma separated: "status,scale"
  std::string_view verbs;                 // comma separated, in discovery's order
  const CustomVersion* custom = nullptr;  // null: a row of this table

  // The type of the objects. Not of a custom resource.
  const TypeInfo& type() const;
  bool has_subresource(std::string_view name) const;
  // False for Berth's own kinds: the objects of custom resources are JSON only.
  bool has_protobuf() const { return group != kBerthGroup && !custom; }
};

// By group, then version in order of preference, then plural.
std::span<const ResourceInfo> resources();
const ResourceInfo* find_resource(std::string_view group, std::string_view version, std::string_view plural);
const ResourceInfo* find_resource_of_kind(std::string_view group, std::string_view version,
                                          std::string_view kind);
const ResourceInfo* find_resource_of_kind(std::string_view api_version, std::string_view kind);

// Calls `visit` for each part of a comma separated list.
template <class Visit>
void for_each_listed(std::string_view list, Visit visit) {
  while (!list.empty()) {
    const std::size_t end = list.find(',');
    visit(list.substr(0, end));
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
  }
}

}  // namespace berth::api
