// The common part of every Kubernetes object, and the small shared structs of the typed kinds.
//
// Typed structs exist only for the kinds that Berth reasons about. They are read views: `raw` keeps the whole
// object, so fields that Berth does not model survive every read-modify-write. Immutable once decoded, shared
// between threads.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/quantity.h"
#include "base/time.h"

namespace berth::api {

// The bytes of one version of an object, as the API server sent them: JSON or protobuf (serialized.h). Null
// in typed objects that do not keep them (decoded_versions.h).
using RawPtr = std::shared_ptr<const std::string>;

using StringMap = std::map<std::string, std::string, std::less<>>;
using ResourceMap = std::map<std::string, Quantity, std::less<>>;

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
  bool block_owner_deletion = false;
  friend bool operator==(const OwnerReference&, const OwnerReference&) = default;
};

// metav1.ObjectMeta. `resource_version` is a number: comparable from Kubernetes 1.35 on; 0 when absent.
struct ObjectMeta {
  std::string name;
  std::string ns;
  std::string uid;
  std::uint64_t resource_version = 0;
  std::int64_t generation = 0;
  Time created;
  Time deleted;  // deletionTimestamp
  std::optional<std::int64_t> deletion_grace_s;
  StringMap labels;
  StringMap annotations;
  std::vector<std::string> finalizers;
  std::vector<OwnerReference> owners;

  bool deleting() const { return deleted.is_set(); }
  bool has_finalizer(std::string_view finalizer) const;
  const OwnerReference* controller() const;
  // The annotation's value, or empty.
  std::string_view annotation(std::string_view key) const;
};

// metav1.Condition, and the pod and node conditions that have its fields.
struct Condition {
  std::string type;
  std::string status;  // True, False, Unknown
  std::string reason;
  std::string message;
  Time last_transition;
  std::int64_t observed_generation = 0;
  friend bool operator==(const Condition&, const Condition&) = default;
};

// Null without a condition of this type.
const Condition* find_condition(const std::vector<Condition>& conditions, std::string_view type);
bool condition_is_true(const std::vector<Condition>& conditions, std::string_view type);
// Equal in everything but the time of the transition.
bool says_the_same(const Condition& a, const Condition& b);
// The condition to write: its transition is that of the standing one of its type while the status stays.
Condition keeping_transition(const std::vector<Condition>& standing, Condition wanted);
// Puts it in the place of the standing one of its type, or last; the transition as above.
void set_condition(std::vector<Condition>& conditions, Condition wanted);

// core/v1 NodeSelectorRequirement and label selector requirement.
struct Requirement {
  std::string key;
  std::string op;  // In, NotIn, Exists, DoesNotExist, Gt, Lt
  std::vector<std::string> values;
  friend bool operator==(const Requirement&, const Requirement&) = default;
};

struct NodeSelectorTerm {
  std::vector<Requirement> expressions;
  std::vector<Requirement> fields;  // only metadata.name
  friend bool operator==(const NodeSelectorTerm&, const NodeSelectorTerm&) = default;
};

// Terms are alternatives; an empty list matches nothing, an empty term matches nothing.
struct NodeSelector {
  std::vector<NodeSelectorTerm> terms;
  friend bool operator==(const NodeSelector&, const NodeSelector&) = default;
};

bool matches(const Requirement& requirement, const StringMap& labels);
bool matches(const NodeSelector& selector, const StringMap& labels, std::string_view node_name);

ObjectMeta decode_meta(const Json& object);
// A typed object with its bytes and metadata; the rest is not decoded. `object`: Json or ProtobufDocument.
template <class T, class Document>
T begin_decoded(const Document& object, RawPtr raw) {
  T decoded;
  decoded.raw = std::move(raw);
  decoded.meta = decode_meta(object);
  return decoded;
}
// Decimal, with '-' or without a sign; nothing for any other text and beyond 64 bits.
std::optional<std::int64_t> to_int(std::string_view text);
std::vector<Condition> decode_conditions(const JsonArray& items);
NodeSelector decode_node_selector(const Json& selector);
NodeSelectorTerm decode_node_selector_term(const Json& term);
StringMap decode_string_map(const Json* map);
// Quantities that do not parse are left out: the API server has refused them.
// None when the field is absent or no quantity.
std::optional<Quantity> decode_quantity(const Json& object, std::string_view field);
ResourceMap decode_resource_map(const Json* map);
std::vector<std::string> decode_strings(const JsonArray& items);
Time decode_time(std::string_view text);

Json to_json(const Condition& condition);
Json to_json(const NodeSelector& selector);
Json to_json(const StringMap& map);
Json to_json(const std::vector<std::string>& strings);
Json to_json(const OwnerReference& owner);

}  // namespace berth::api
