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
    const WireField part = TRY(reader.next());
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
  bool leads_to(const FieldInfo& field, std::uint32_t number) const {
    return depth < field.embed.size() && covers(field) && field.embed[depth] == number;
  }
};

ProtobufDocument::ProtobufDocument(const TypeInfo& type, std::string_view message, Trouble& trouble)
    : type_(&type), trouble_(&trouble) {
  collect(message, {});
}

void ProtobufDocument::collect(std::string_view message, const Embedded& around) {
  const std::span<const FieldInfo> all = type_->fields();
  WireReader reader(message);
  std::size_t at = 0;
  while (!reader.at_end()) {
    const Result<WireField> wire = reader.next();
    if (!wire) return fail(wire.error());
    const FieldInfo* direct = type_->find_field(
        at, [&](const FieldInfo& field) { return field.proto == wire->number && around.holds(field); });
    if (direct) {
      at = static_cast<std::size_t>(direct - all.data());
      fields_.push_back({direct, *wire});
      continue;
    }
    const bool embedded = std::any_of(
        all.begin(), all.end(), [&](const FieldInfo& field) { return around.leads_to(field, wire->number); });
    if (!embedded || wire->type != WireType::Bytes) continue;
    Embedded inner = around;
    inner.numbers[inner.depth++] = static_cast<std::uint16_t>(wire->number);
    collect(wire->bytes, inner);
  }
}

void ProtobufDocument::fail(Error error) const {
  if (!*trouble_) *trouble_ = std::move(error);
}

const ProtobufDocument::Field* ProtobufDocument::last(std::string_view key) const {
  for (auto field = fields_.rbegin(); field != fields_.rend(); ++field)
    if (field->info->json == key) return &*field;
  return nullptr;
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
  return ProtobufDocument(field->info->type(), field->wire.bytes, *trouble_);
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

std::vector<ProtobufDocument> ProtobufDocument::items_at(std::string_view key) const {
  std::vector<ProtobufDocument> items;
  for (const Field& field : fields_)
    if (field.info->json == key && field.info->kind == ValueKind::Message && is_bytes(field))
      items.emplace_back(field.info->type(), field.wire.bytes, *trouble_);
  return items;
}

std::vector<std::string> ProtobufDocument::strings_at(std::string_view key) const {
  std::vector<std::string> strings;
  for (const Field& field : fields_) {
    if (field.info->json != key || field.info->kind != ValueKind::String || !is_bytes(field)) continue;
    if (!is_utf8(field.wire.bytes))
      fail(Error(ErrorCode::Invalid, "malformed protobuf: a text is not UTF-8"));
    strings.emplace_back(field.wire.bytes);
  }
  return strings;
}

template <class Take>
void ProtobufDocument::each_entry(std::string_view key, Take take) const {
  for (const Field& field : fields_) {
    if (field.info->json != key || field.info->shape != Shape::Map || !is_bytes(field)) continue;
    const Result<MapEntry> entry = map_entry(field.wire.bytes);
    if (!entry) return fail(entry.error());
    take(*entry);
  }
}

StringMap ProtobufDocument::string_map_at(std::string_view key) const {
  StringMap map;
  each_entry(key, [&](const MapEntry& entry) {
    if (!is_utf8(entry.value)) fail(Error(ErrorCode::Invalid, "malformed protobuf: a text is not UTF-8"));
    map.insert_or_assign(std::string(entry.key), std::string(entry.value));
  });
  return map;
}

ResourceMap ProtobufDocument::resource_map_at(std::string_view key) const {
  ResourceMap map;
  each_entry(key, [&](const MapEntry& entry) {
    const Result<WireParts> parts = wire_parts(entry.value);
    if (!parts) return fail(parts.error());
    const Result<Quantity> quantity = parse_quantity(parts->bytes[1]);
    if (!quantity) return fail(quantity.error());
    map.insert_or_assign(std::string(entry.key), *quantity);
  });
  return map;
}

Json ProtobufDocument::json_at(std::string_view key) const {
  std::vector<WireField> values;
  const FieldInfo* info = nullptr;
  for (const Field& field : fields_) {
    if (field.info->json != key) continue;
    info = field.info;
    values.push_back(field.wire);
  }
  if (!info) return {};
  Result<Json> member = decode_protobuf_field(*info, values);
  if (member) return *std::move(member);
  fail(member.error());
  return {};
}

}  // namespace berth::api
