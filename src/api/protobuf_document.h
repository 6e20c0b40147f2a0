// A message of a protobuf body, read by the JSON names of its fields without making a document of it.
//
// The decoders of types/ are templates over both. Fields that nobody asks for are not decoded; absent ones
// read as in Json. A view: the bytes and the reading outlive it. Cost: one pass over the fields that are
// there; then each lookup is linear in them. Source: as protobuf.h.
#pragma once

#include <array>
#include <memory_resource>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "api/protobuf_wire.h"
#include "api/type_table.h"
#include "api/types/meta.h"
#include "base/json.h"

namespace berth::api {

class ProtobufDocument {
 public:
  class Reading;

  // The message of an absent part has no fields.
  ProtobufDocument(const TypeInfo& type, std::string_view message, Reading& reading);

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
  // Of a Quantity; when absent zero, or nothing if absence and zero differ.
  std::optional<Quantity> quantity_at(std::string_view key) const;
  // A list of messages.
  std::vector<ProtobufDocument> items_at(std::string_view key) const;
  // A map of messages; of equal keys the last one counts.
  std::vector<std::pair<std::string_view, ProtobufDocument>> members_at(std::string_view key) const;
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
  // Until the next document of the reading.
  std::span<const Field> fields() const;
  // Of several for one field that is no list the last one counts.
  const Field* last(std::string_view key) const;
  bool is_bytes(const Field& field) const;
  void fail(Error error) const;
  std::optional<Quantity> quantity_of(std::string_view message) const;
  template <class Take>
  void each_field(std::string_view key, Take take) const;
  template <class Take>
  void each_entry(std::string_view key, Take take) const;

  const TypeInfo* type_;
  Reading* reading_;
  std::uint32_t first_ = 0, count_ = 0;  // of its fields, in the reading
};

// What the documents of one object share: their fields, and what is wrong. Memory: 40 bytes a field, those of
// nearly all objects in place: 5 KiB.
class ProtobufDocument::Reading {
 public:
  Reading() { fields_.reserve(kFieldsUsual); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  // Whether something that was read is malformed, and what first: then nothing that was read counts.
  std::optional<Error> trouble;

 private:
  friend class ProtobufDocument;
  static constexpr std::size_t kFieldsUsual = 128;
  alignas(Field) std::array<std::byte, kFieldsUsual * sizeof(Field)> place_;
  std::pmr::monotonic_buffer_resource memory_{place_.data(), place_.size()};
  std::pmr::vector<Field> fields_{&memory_};  // of all documents that were made
};

inline std::span<const ProtobufDocument::Field> ProtobufDocument::fields() const {
  return std::span(reading_->fields_).subspan(first_, count_);
}

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
inline std::optional<bool> find_bool(const Json& document, std::string_view key) {
  const Json* found = document.find(key);
  return found && found->is_bool() ? std::optional(found->as_bool()) : std::nullopt;
}
inline std::optional<bool> find_bool(const ProtobufDocument& document, std::string_view key) {
  return document.has(key) ? std::optional(document.bool_at(key)) : std::nullopt;
}
inline std::optional<std::string_view> find_string(const Json& document, std::string_view key) {
  const Json* found = document.find(key);
  return found && found->is_string() ? std::optional<std::string_view>(found->as_string()) : std::nullopt;
}
inline std::optional<std::string_view> find_string(const ProtobufDocument& document, std::string_view key) {
  return document.has(key) ? std::optional(document.string_at(key)) : std::nullopt;
}
inline std::optional<Quantity> quantity_at(const Json& document, std::string_view key) {
  return decode_quantity(document, key);
}
inline std::optional<Quantity> quantity_at(const ProtobufDocument& document, std::string_view key) {
  return document.quantity_at(key);
}
// Calls take(key, value) for each member of a map whose values are messages.
template <class Take>
void each_member_at(const Json& document, std::string_view key, Take take) {
  const Json* map = document.find(key);
  if (!map || !map->is_object()) return;
  for (const JsonMember& member : map->as_object()) take(member.key, member.value);
}
template <class Take>
void each_member_at(const ProtobufDocument& document, std::string_view key, Take take) {
  for (const auto& [name, value] : document.members_at(key)) take(name, value);
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
struct Taint;
Taint decode_taint(const ProtobufDocument& item);
struct Node;
Node decode_node(const ProtobufDocument& object, RawPtr raw);
struct ResourceSlice;
ResourceSlice decode_resource_slice(const ProtobufDocument& object, RawPtr raw);

}  // namespace berth::api
