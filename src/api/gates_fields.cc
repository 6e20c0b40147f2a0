#include "api/gates_fields.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "api/canonical.h"

namespace berth::api {
namespace {

// Features in use, identified by the gates that control them: fields of one feature have the same text.
using Features = std::set<std::string_view>;

bool is_on(const FieldInfo& field, const Gates& gates) {
  bool on = true;
  for_each_listed(field.gate, [&](std::string_view gate) {
    const auto table = gate_table();
    const bool known =
        std::any_of(table.begin(), table.end(), [&](const GateInfo& row) { return row.name == gate; });
    on &= !known || gates.enabled(gate);
  });
  return on;
}

// The value of a dropped member that is always written.
Json absent_value(const FieldInfo& field) {
  return field.is(kPointer) || field.shape != Shape::One ? Json() : zero_of(field);
}

// Calls `visit` for every message in the value of a field.
template <class AnyJson, class Visit>
void for_each_message(const FieldInfo& field, AnyJson& value, Visit visit) {
  if (field.kind != ValueKind::Message) return;
  if (field.shape == Shape::List && value.is_array()) {
    for (auto& item : value.as_array()) visit(item);
  } else if (field.shape == Shape::Map && value.is_object()) {
    for (auto& member : value.as_object()) visit(member.value);
  } else if (field.shape == Shape::One) {
    visit(value);
  }
}

// Empty lists and maps do not count as use.
bool is_used(const Json& value) {
  if (value.is_array()) return !value.as_array().empty();
  if (value.is_object()) return !value.as_object().empty();
  return !value.is_null();
}

// The field of the next member, usually the one after the last member's: `hint`.
const FieldInfo* next_field(const TypeInfo& type, std::string_view key, std::size_t& hint) {
  const FieldInfo* field = type.field_by_json(key, hint);
  if (field) hint = static_cast<std::size_t>(field - type.fields().data()) + 1;
  return field;
}

void collect_used(const TypeInfo& type, const Json& document, Features& used) {
  if (!document.is_object()) return;
  std::size_t hint = 0;
  for (const JsonMember& member : document.as_object()) {
    const FieldInfo* field = next_field(type, member.key, hint);
    if (!field || !is_used(member.value)) continue;
    if (!field->gate.empty()) used.insert(field->gate);
    for_each_message(*field, member.value,
                     [&](const Json& inner) { collect_used(field->type(), inner, used); });
  }
}

// Whether the document has a member whose gate is off. Parts that it shares with `old` are skipped: `old`
// uses whatever they contain.
bool has_gated(const TypeInfo& type, const Json& document, const Json& old, const Gates& gates) {
  if (!document.is_object() || document.shares_with(old)) return false;
  std::size_t hint = 0;
  for (const JsonMember& member : document.as_object()) {
    const FieldInfo* field = next_field(type, member.key, hint);
    if (!field) continue;
    if (!field->gate.empty() && !is_on(*field, gates)) return true;
    const Json& old_value = old.part(member.key);
    if (member.value.shares_with(old_value)) continue;
    bool found = false;
    for_each_message(*field, member.value, [&](const Json& inner) {
      found = found || has_gated(field->type(), inner, old_value, gates);
    });
    if (found) return true;
  }
  return false;
}

void drop(const TypeInfo& type, Json& document, const Features& used, const Gates& gates) {
  if (!document.is_object()) return;
  std::vector<std::string> dropped;
  for (JsonMember& member : document.as_object()) {
    const FieldInfo* field = type.field_by_json(member.key);
    if (!field) continue;
    const bool kept = field->gate.empty() || used.contains(field->gate) || is_on(*field, gates);
    if (!kept && field->is(kOmitEmpty))
      dropped.push_back(member.key);
    else if (!kept)
      member.value = absent_value(*field);
    else
      for_each_message(*field, member.value, [&](Json& inner) { drop(field->type(), inner, used, gates); });
  }
  for (const std::string& key : dropped) document.as_object().erase(key);
}

}  // namespace

void drop_gated_fields(const TypeInfo& type, Json& document, const Json* old, const Gates& gates) {
  static const Json kNone;
  if (!has_gated(type, document, old ? *old : kNone, gates)) return;
  Features used;
  if (old) collect_used(type, *old, used);
  drop(type, document, used, gates);
}

}  // namespace berth::api
