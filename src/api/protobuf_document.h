// A message of a protobuf body, read by the JSON names of its fields without making a document of it.
//
// The decoders of types/ are templates over both. Fields that nobody asks for are not decoded; absent ones
// read as in Json. A view: the bytes and the trouble outlive it. Cost: one pass over the fields that are
// there, one allocation; then each lookup is linear in them. Source: as protobuf.h.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "api/protobuf_wire.h"
#include "api/type_table.h"
#include "api/types/meta.h"
#include "base/json.h"

namespace berth::api {

class ProtobufDocument {
 public:
  // Whether something that was read is malformed, and what first: then nothing that was read counts.
  using Trouble = std::optional<Error>;

  // The message of an absent part has no fields.
  ProtobufDocument(const TypeInfo& type, std::string_view message, Trouble& trouble);

  // Nothing unless this member is a message and there.
  std::optional<ProtobufDocument> find(std::string_view key) const;
  bool has(std::string_view key) const { return last(key) != nullptr; }
  // Into the bytes; empty unless a string is there.
  std::string_view string_at(std::string_view key) const;
  std::optional<std::int64_t> find_int(std::string_view key) const;
  std::int64_t int_at(std::string_view key, std::int64_t otherwise = 0) const {
    return find_int(key).value_or(otherwise);
  }
  bool bool_at(std::string_view key) const;
  // Of a Time or MicroTime; not set when absent.
  Time time_at(std::string_view key) const;
  // A list of messages.
  std::vector<ProtobufDocument> items_at(std::string_view key) const;
  std::vector<std::string> strings_at(std::string_view key) const;
  StringMap string_map_at(std::string_view key) const;
  ResourceMap resource_map_at(std::string_view key) const;
  // This member as decode_protobuf() gives it; null when absent.
  Json json_at(std::string_view key) const;

 private:
  struct Field {
    const FieldInfo* info;
    WireField wire;
  };
  struct Embedded;
  void collect(std::string_view message, const Embedded& around);
  // Of several for one field that is no list the last one counts.
  const Field* last(std::string_view key) const;
  bool is_bytes(const Field& field) const;
  void fail(Error error) const;
  template <class Take>
  void each_entry(std::string_view key, Take take) const;

  const TypeInfo* type_;
  Trouble* trouble_;
  std::vector<Field> fields_;
};

// The same questions to Json, where it has no member function of that name.
inline bool has_member(const Json& document, std::string_view key) {
  const Json* found = document.find(key);
  return found && !found->is_null();
}
inline bool has_member(const ProtobufDocument& document, std::string_view key) {
  return document.has(key);
}
inline std::optional<std::int64_t> find_int(const Json& document, std::string_view key) {
  const Json* found = document.find(key);
  return found && found->is_int() ? std::optional(found->as_int()) : std::nullopt;
}
inline std::optional<std::int64_t> find_int(const ProtobufDocument& document, std::string_view key) {
  return document.find_int(key);
}
inline Time time_at(const Json& document, std::string_view key) {
  return decode_time(document.string_at(key));
}
inline Time time_at(const ProtobufDocument& document, std::string_view key) {
  return document.time_at(key);
}
inline std::vector<std::string> strings_at(const Json& document, std::string_view key) {
  return decode_strings(document.items_at(key));
}
inline std::vector<std::string> strings_at(const ProtobufDocument& document, std::string_view key) {
  return document.strings_at(key);
}
inline StringMap string_map_at(const Json& document, std::string_view key) {
  return decode_string_map(document.find(key));
}
inline StringMap string_map_at(const ProtobufDocument& document, std::string_view key) {
  return document.string_map_at(key);
}
inline ResourceMap resource_map_at(const Json& document, std::string_view key) {
  return decode_resource_map(document.find(key));
}
inline ResourceMap resource_map_at(const ProtobufDocument& document, std::string_view key) {
  return document.resource_map_at(key);
}
inline const Json& json_at(const Json& document, std::string_view key) {
  return document.part(key);
}
inline Json json_at(const ProtobufDocument& document, std::string_view key) {
  return document.json_at(key);
}

// The counterparts of the decoders of meta.h, pod.h and dra.h; the caller looks at the trouble.
ObjectMeta decode_meta(const ProtobufDocument& object);
std::vector<Condition> decode_conditions(const std::vector<ProtobufDocument>& items);
NodeSelector decode_node_selector(const ProtobufDocument& selector);
NodeSelectorTerm decode_node_selector_term(const ProtobufDocument& term);
struct Toleration;
Toleration decode_toleration(const ProtobufDocument& item);
struct Pod;
Pod decode_pod(const ProtobufDocument& object, RawPtr raw);
struct ResourceClaim;
ResourceClaim decode_resource_claim(const ProtobufDocument& object, RawPtr raw);

}  // namespace berth::api
