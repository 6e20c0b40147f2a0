#include "api/type_table.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

#include "api/type_table_rows.h"
#include "base/assert.h"

namespace berth::api {
namespace {

using K = ValueKind;
using S = Shape;
using L = ListType;

constexpr FieldInfo kGeneratedFields[] = {
#define BERTH_TYPE_FIELDS
#include "api/generated_types.inc"
#undef BERTH_TYPE_FIELDS
};

constexpr TypeInfo kGeneratedTypes[] = {
#include "api/generated_types.inc"
};

constexpr std::uint32_t kIndexedNumberMax = 0xff;  // of a field; those of the overlay are larger

auto order(const TypeInfo& type) {
  return std::tie(type.group, type.version, type.name);
}

// The generated rows with the overlay's members in their types.
class TypeIndex {
 public:
  static const TypeIndex& instance() {
    static const TypeIndex table;
    return table;
  }

  std::vector<FieldInfo> fields;
  std::vector<TypeInfo> types;
  std::vector<std::uint16_t> by_name;
  // By the position of the type: from a wire number to the position in its fields, plus one.
  std::vector<std::vector<std::uint8_t>> by_number;

  const TypeInfo* find(const TypeName& name) const {
    const auto key = std::tie(name.group, name.version, name.name);
    const auto at = std::lower_bound(by_name.begin(), by_name.end(), key,
                                     [&](std::uint16_t i, const auto& k) { return order(types[i]) < k; });
    return at != by_name.end() && order(types[*at]) == key ? &types[*at] : nullptr;
  }

 private:
  TypeIndex() : types(std::begin(kGeneratedTypes), std::end(kGeneratedTypes)) {
    for (const OverlayRow& row : overlay_rows())
      if (!slow_find(row.owner))
        types.push_back({row.owner.group, row.owner.version, row.owner.name, 0, 0, row.owner_flags});
    fields.reserve(std::size(kGeneratedFields) + overlay_rows().size());
    for (TypeInfo& type : types) append_fields(type);
    by_name.resize(types.size());
    for (std::size_t i = 0; i < types.size(); ++i) by_name[i] = static_cast<std::uint16_t>(i);
    std::sort(by_name.begin(), by_name.end(),
              [&](std::uint16_t a, std::uint16_t b) { return order(types[a]) < order(types[b]); });
    for (const TypeInfo& type : types) by_number.push_back(numbers_of(type));
  }

  std::vector<std::uint8_t> numbers_of(const TypeInfo& type) const {
    BERTH_ASSERT(type.field_count < std::numeric_limits<std::uint8_t>::max(), "a position fits into a byte");
    std::vector<std::uint8_t> positions;
    for (std::size_t i = 0; i < type.field_count; ++i) {
      const FieldInfo& field = fields[type.first_field + i];
      if (field.proto == 0 || field.proto > kIndexedNumberMax || field.embed[0] != 0) continue;
      if (positions.size() <= field.proto) positions.resize(field.proto + 1u);
      positions[field.proto] = static_cast<std::uint8_t>(i + 1);
    }
    return positions;
  }

  void append_fields(TypeInfo& type) {
    const auto first = static_cast<std::uint16_t>(fields.size());
    const auto* generated = kGeneratedFields + type.first_field;
    fields.insert(fields.end(), generated, generated + type.field_count);
    for (const OverlayRow& row : overlay_rows()) {
      if (std::tie(row.owner.group, row.owner.version, row.owner.name) != order(type)) continue;
      fields.push_back(row.field);
      if (row.message.name.empty()) continue;
      const TypeInfo* message = slow_find(row.message);
      BERTH_ASSERT(message, "an overlay row names a type that the table has");
      fields.back().message = static_cast<std::uint16_t>(message - types.data());
    }
    type.first_field = first;
    type.field_count = static_cast<std::uint16_t>(fields.size() - first);
  }

  const TypeInfo* slow_find(const TypeName& name) const {
    for (const TypeInfo& type : types)
      if (order(type) == std::tie(name.group, name.version, name.name)) return &type;
    return nullptr;
  }
};

}  // namespace

GroupVersion group_version_of(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  if (slash == std::string_view::npos) return {{}, api_version};
  return {api_version.substr(0, slash), api_version.substr(slash + 1)};
}

const TypeInfo& FieldInfo::type() const {
  BERTH_ASSERT(message != kNoType, "the field's values are of a type of the table");
  return TypeIndex::instance().types[message];
}

std::span<const FieldInfo> TypeInfo::fields() const {
  return std::span(TypeIndex::instance().fields).subspan(first_field, field_count);
}

const FieldInfo* TypeInfo::field_by_number(std::uint32_t number) const {
  const TypeIndex& table = TypeIndex::instance();
  if (number > kIndexedNumberMax)
    return find_field(0,
                      [&](const FieldInfo& field) { return field.proto == number && field.embed[0] == 0; });
  const std::vector<std::uint8_t>& positions =
      table.by_number[static_cast<std::size_t>(this - table.types.data())];
  const std::size_t position = number < positions.size() ? positions[number] : 0;
  return position == 0 ? nullptr : &table.fields[first_field + position - 1];
}

const FieldInfo* TypeInfo::field_by_json(std::string_view json, std::size_t hint) const {
  return find_field(hint, [json](const FieldInfo& field) { return field.json == json; });
}

std::span<const TypeInfo> types() {
  return TypeIndex::instance().types;
}

const TypeInfo* find_type(std::string_view group, std::string_view version, std::string_view name) {
  return TypeIndex::instance().find({group, version, name});
}

const TypeInfo* find_kind(std::string_view api_version, std::string_view kind) {
  const auto [group, version] = group_version_of(api_version);
  const TypeInfo* found = find_type(group, version, kind);
  if (!found) found = find_type("meta.k8s.io", "v1", kind);
  return found && found->is(kTopLevel) ? found : nullptr;
}

}  // namespace berth::api
