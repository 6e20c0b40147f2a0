#include "cel/messages.h"

#include <array>

namespace berth::cel {
namespace {

struct WrapperName {
  std::string_view name;
  TypeKind primitive;
};
constexpr std::array<WrapperName, 9> kWrappers = {{{"google.protobuf.BoolValue", TypeKind::Bool},
                                                   {"google.protobuf.Int32Value", TypeKind::Int},
                                                   {"google.protobuf.Int64Value", TypeKind::Int},
                                                   {"google.protobuf.UInt32Value", TypeKind::Uint},
                                                   {"google.protobuf.UInt64Value", TypeKind::Uint},
                                                   {"google.protobuf.FloatValue", TypeKind::Double},
                                                   {"google.protobuf.DoubleValue", TypeKind::Double},
                                                   {"google.protobuf.StringValue", TypeKind::String},
                                                   {"google.protobuf.BytesValue", TypeKind::Bytes}}};

Value zero_of(TypeKind kind) {
  switch (kind) {
    case TypeKind::Bool:
      return Value::of_bool(false);
    case TypeKind::Int:
      return Value::of_int(0);
    case TypeKind::Uint:
      return Value::of_uint(0);
    case TypeKind::Double:
      return Value::of_double(0);
    case TypeKind::Bytes:
      return Value::of_bytes("");
    default:
      return Value::of_string("");
  }
}

}  // namespace

TypeRef message_type(std::string_view name, const Environment& environment, std::vector<Field>& fields) {
  for (const WrapperName& wrapper : kWrappers) {
    if (wrapper.name != name) continue;
    fields = {{"value", simple_type(wrapper.primitive)}};
    return wrapper_type(simple_type(wrapper.primitive));
  }
  for (const TypeKind kind : {TypeKind::Timestamp, TypeKind::Duration}) {
    if (simple_type(kind)->name != name) continue;
    fields = {{"seconds", simple_type(TypeKind::Int)}, {"nanos", simple_type(TypeKind::Int)}};
    return simple_type(kind);
  }
  return environment.fields_of(name) ? object_type(std::string(name)) : nullptr;
}

Value message_value(const Node& node, std::span<const Value> values) {
  for (const WrapperName& wrapper : kWrappers)
    if (wrapper.name == node.name) return values.empty() ? zero_of(wrapper.primitive) : values[0];
  const bool is_timestamp = node.name == simple_type(TypeKind::Timestamp)->name;
  if (!is_timestamp && node.name != simple_type(TypeKind::Duration)->name)
    return Value::error("unknown type '" + node.name + "'");
  std::int64_t seconds = 0, nanos = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    (node.fields[i] == "seconds" ? seconds : nanos) = values[i].as_int();
  if (nanos < 0 || nanos > 999999999) return Value::error("nanos out of range");
  if (is_timestamp) return Value::of_instant({seconds, static_cast<std::int32_t>(nanos)});
  std::int64_t total = 0;
  if (node.name != simple_type(TypeKind::Duration)->name)
    return Value::error("unknown type '" + node.name + "'");
  if (__builtin_mul_overflow(seconds, INT64_C(1000000000), &total) ||
      __builtin_add_overflow(total, nanos, &total))
    return Value::error("duration overflow");
  return Value::of_duration(total);
}

}  // namespace berth::cel
