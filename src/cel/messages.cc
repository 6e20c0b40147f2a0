#include "cel/messages.h"

#include <algorithm>
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

std::int64_t int_field(const std::vector<MessageField>& fields, std::string_view name) {
  for (const MessageField& field : fields)
    if (field.name == name) return field.value.as_int();
  return 0;
}

}  // namespace

const Value* Message::find(std::string_view name) const {
  for (const MessageField& field : fields_)
    if (field.name == name) return &field.value;
  return nullptr;
}

Value Message::field(std::size_t index) const {
  const Field& declared = (*declared_)[index];
  if (const Value* value = find(declared.name)) return *value;
  return declared.type->kind == TypeKind::String ? Value::of_string("") : Value();
}

bool Message::equals(const ObjectSource& other) const {
  const auto* message = dynamic_cast<const Message*>(&other);
  if (!message || type_ != message->type_ || fields_.size() != message->fields_.size()) return false;
  return std::all_of(fields_.begin(), fields_.end(), [&](const MessageField& field) {
    const Value* theirs = message->find(field.name);
    return theirs && equal(field.value, *theirs);
  });
}

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
  const bool is_declared = environment.fields_of(name) || environment.is_open_message(name);
  return is_declared ? object_type(std::string(name)) : nullptr;
}

Value message_value(const std::string& name, std::vector<MessageField> fields,
                    const Environment& environment) {
  for (const WrapperName& wrapper : kWrappers)
    if (wrapper.name == name) return fields.empty() ? zero_of(wrapper.primitive) : fields[0].value;
  if (environment.is_message(name))
    return Value::of_object(std::make_shared<Message>(name, std::move(fields), environment.fields_of(name)));
  const bool is_timestamp = name == simple_type(TypeKind::Timestamp)->name;
  if (!is_timestamp && name != simple_type(TypeKind::Duration)->name)
    return Value::error("unknown type '" + name + "'");
  const std::int64_t seconds = int_field(fields, "seconds"), nanos = int_field(fields, "nanos");
  if (nanos < 0 || nanos > 999999999) return Value::error("nanos out of range");
  if (is_timestamp) return Value::of_instant({seconds, static_cast<std::int32_t>(nanos)});
  std::int64_t total = 0;
  if (__builtin_mul_overflow(seconds, INT64_C(1000000000), &total) ||
      __builtin_add_overflow(total, nanos, &total))
    return Value::error("duration overflow");
  return Value::of_duration(total);
}

}  // namespace berth::cel
