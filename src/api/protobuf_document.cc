#include "api/protobuf_document.h"

#include <algorithm>

#include "api/protobuf.h"
#include "base/utf8.h"

namespace berth::api {
namespace {

// A map's entry.
struct MapEntry {
  std::string_view key;
  std::string_view value;
};

Result<MapEntry> map_entry(std::string_view bytes) {
  MapEntry entry;
  WireReader reader(bytes);
  while (!reader.at_end()) {
    WireField part;
    if (!reader.next_usual(part)) part = TRY(reader.next());
    if (part.number == 1) entry.key = part.bytes;
    if (part.number == 2) entry.value = part.bytes;
  }
  if (!is_utf8(entry.key)) return Error(ErrorCode::Invalid, "malformed protobuf: a text is not UTF-8");
  return entry;
}

}  // namespace

// The numbers of the messages around a message whose fields JSON shows among those of the outermost one.
struct ProtobufDocument::Embedded {
  std::uint16_t numbers[2] = {};
  std::size_t depth = 0;

  bool covers(const FieldInfo& field) const {
    return (depth < 1 || field.embed[0] == numbers[0]) && (depth < 2 || field.embed[1] == numbers[1]);
  }
  bool holds(const FieldInfo& field) const {
    return covers(field) && (depth >= field.embed.size() || field.embed[depth] == 0);
  }
  const FieldInfo* find(const TypeInfo& type, std::uint32_t number) const {
    if (depth == 0) return type.field_by_number(number);
    return type.find_field(0, [&](const FieldInfo& field) { return field.proto == number && holds(field); });
  }
  bool leads_to(const FieldInfo& field, std::uint32_t number) const {
    return depth < field.embed.size() && covers(field) && field.embed[depth] == number;
  }
};

ProtobufDocument::ProtobufDocument(const TypeInfo& type, std::string_view message, Reading& reading)
    : type_(&type), reading_(&reading), first_(static_cast<std::uint32_t>(reading.fields_.size())) {
  collect(message, {});
  count_ = static_cast<std::uint32_t>(reading.fields_.size()) - first_;
}

void ProtobufDocument::collect(std::string_view message, const Embedded& around) {
  const std::span<const FieldInfo> all = type_->fields();
  WireReader reader(message);
  while (!reader.at_end()) {
    WireField wire;
    if (!reader.next_usual(wire)) {
      const Result<WireField> other = reader.next();
      if (!other) return fail(other.error());
      wire = *other;
    }
    if (const FieldInfo* direct = around.find(*type_, wire.number)) {
      reading_->fields_.push_back({direct, wire});
      continue;
    }
    const bool embedded = std::any_of(
        all.begin(), all.end(), [&](const FieldInfo& field) { return around.leads_to(field, wire.number); });
    if (!embedded || wire.type != WireType::Bytes) continue;
    Embedded inner = around;
    inner.numbers[inner.depth++] = static_cast<std::uint16_t>(wire.number);
    collect(wire.bytes, inner);
  }
}

void ProtobufDocument::fail(Error error) const {
  if (!reading_->trouble) reading_->trouble = std::move(error);
}

const ProtobufDocument::Field* ProtobufDocument::last(std::string_view key) const {
  const std::span<const Field> all = fields();
  for (auto field = all.rbegin(); field != all.rend(); ++field)
    if (field->info->json == key) return &*field;
  return nullptr;
}

// Calls take() for each field of this name. It may make documents.
template <class Take>
void ProtobufDocument::each_field(std::string_view key, Take take) const {
  for (std::uint32_t i = 0; i < count_; ++i)
    if (const Field& field = reading_->fields_[first_ + i]; field.info->json == key) take(Field(field));
}

bool ProtobufDocument::is_bytes(const Field& field) const {
  if (field.wire.type == WireType::Bytes) return true;
  fail(Error(ErrorCode::Invalid,
             "malformed protobuf: field " + std::string(field.info->json) + " has an unexpected wire type"));
  return false;
}

std::optional<ProtobufDocument> ProtobufDocument::find(std::string_view key) const {
  const Field* field = last(key);
  if (!field || field->info->kind != ValueKind::Message || field->info->shape != Shape::One ||
      !is_bytes(*field))
    return std::nullopt;
  return ProtobufDocument(field->info->type(), field->wire.bytes, *reading_);
}

std::string_view ProtobufDocument::string_at(std::string_view key) const {
  const Field* field = last(key);
  if (!field || field->info->kind != ValueKind::String || field->info->shape != Shape::One ||
      !is_bytes(*field))
    return {};
  if (!is_utf8(field->wire.bytes)) {
    fail(Error(ErrorCode::Invalid, "malformed protobuf: a text is not UTF-8"));
    return {};
  }
  return field->wire.bytes;
}

std::optional<std::int64_t> ProtobufDocument::find_int(std::string_view key) const {
  const Field* field = last(key);
  if (!field || field->info->shape != Shape::One) return std::nullopt;
  if (field->info->kind == ValueKind::Int32) return static_cast<std::int32_t>(field->wire.scalar);
  if (field->info->kind == ValueKind::Int64) return static_cast<std::int64_t>(field->wire.scalar);
  return std::nullopt;
}

bool ProtobufDocument::bool_at(std::string_view key) const {
  const Field* field = last(key);
  return field && field->info->kind == ValueKind::Bool && field->wire.scalar != 0;
}

Time ProtobufDocument::time_at(std::string_view key) const {
  const Field* field = last(key);
  if (!field || !is_bytes(*field)) return {};
  const bool is_micro = field->info->kind == ValueKind::MicroTime;
  const Result<Time> time =
      wire_time(field->wire.bytes, is_micro ? TimePrecision::Micros : TimePrecision::Seconds);
  if (time) return *time;
  fail(time.error());
  return {};
}

std::optional<Quantity> ProtobufDocument::quantity_at(std::string_view key) const {
  const Field* field = last(key);
  if (!field) {
    const FieldInfo* absent = type_->field_by_json(key);
    return absent && !absent->is(kPointer) ? std::optional(Quantity()) : std::nullopt;
  }
  if (field->info->kind != ValueKind::Quantity || !is_bytes(*field)) return std::nullopt;
  return quantity_of(field->wire.bytes);
}

// As of an absent one, the value of an empty message is zero: a map's entry may lack its value.
std::optional<Quantity> ProtobufDocument::quantity_of(std::string_view message) const {
  if (message.empty()) return Quantity();
  const Result<WireParts> parts = wire_parts(message);
  if (!parts) {
    fail(parts.error());
    return std::nullopt;
  }
  const Result<Quantity> quantity = parse_quantity(parts->bytes[1]);
  if (!quantity) {
    fail(quantity.error());
    return std::nullopt;
  }
  return *quantity;
}

std::vector<ProtobufDocument> ProtobufDocument::items_at(std::string_view key) const {
  std::vector<ProtobufDocument> items;
  each_field(key, [&](const Field& field) {
    if (field.info->kind == ValueKind::Message && is_bytes(field))
      items.emplace_back(field.info->type(), field.wire.bytes, *reading_);
  });
  return items;
}

std::vector<std::pair<std::string_view, ProtobufDocument>> ProtobufDocument::members_at(
    std::string_view key) const {
  std::vector<std::pair<std::string_view, ProtobufDocument>> members;
  each_entry(key, [&](const FieldInfo& field, const MapEntry& entry) {
    members.emplace_back(entry.key, ProtobufDocument(field.type(), entry.value, *reading_));
  });
  return members;
}

std::vector<std::string> ProtobufDocument::strings_at(std::string_view key) const {
  std::vector<std::string> strings;
  each_field(key, [&](const Field& field) {
    if (field.info->kind != ValueKind::String || !is_bytes(field)) return;
    if (!is_utf8(field.wire.bytes))
      fail(Error(ErrorCode::Invalid, "malformed protobuf: a text is not UTF-8"));
    strings.emplace_back(field.wire.bytes);
  });
  return strings;
}

template <class Take>
void ProtobufDocument::each_entry(std::string_view key, Take take) const {
  each_field(key, [&](const Field& field) {
    if (field.info->shape != Shape::Map || !is_bytes(field)) return;
    const Result<MapEntry> entry = map_entry(field.wire.bytes);
    if (!entry) return fail(entry.error());
    take(*field.info, *entry);
  });
}

StringMap ProtobufDocument::string_map_at(std::string_view key) const {
  StringMap map;
  each_entry(key, [&](const FieldInfo&, const MapEntry& entry) {
    if (!is_utf8(entry.value)) fail(Error(ErrorCode::Invalid, "malformed protobuf: a text is not UTF-8"));
    map.insert_or_assign(std::string(entry.key), std::string(entry.value));
  });
  return map;
}

ResourceMap ProtobufDocument::resource_map_at(std::string_view key) const {
  ResourceMap map;
  each_entry(key, [&](const FieldInfo&, const MapEntry& entry) {
    if (const std::optional<Quantity> quantity = quantity_of(entry.value))
      map.insert_or_assign(std::string(entry.key), *quantity);
  });
  return map;
}

Json ProtobufDocument::json_at(std::string_view key) const {
  std::vector<WireField> values;
  const FieldInfo* info = nullptr;
  each_field(key, [&](const Field& field) {
    info = field.info;
    values.push_back(field.wire);
  });
  if (!info) return {};
  Result<Json> member = decode_protobuf_field(*info, values);
  if (member) return *std::move(member);
  fail(member.error());
  return {};
}

}  // namespace berth::api
