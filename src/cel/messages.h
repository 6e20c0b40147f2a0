// Message literals: protobuf's wrappers, Timestamp and Duration, and the messages that an Environment
// declares. Other declared objects have a type but no literals.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cel/environment.h"

namespace berth::cel {

struct MessageField {
  std::string name;
  Value value;
};

// The value of a literal of a declared message.
class Message final : public ObjectSource {
 public:
  // `declared` are the fields of the type, which outlive it; null for an open message.
  Message(std::string type, std::vector<MessageField> fields, const std::vector<Field>* declared)
      : type_(std::move(type)), fields_(std::move(fields)), declared_(declared) {}

  // The fields that the literal sets, in its order.
  const std::vector<MessageField>& fields() const { return fields_; }
  // Null for a field that is not set.
  const Value* find(std::string_view name) const;

  std::string_view type_name() const override { return type_; }
  // A field that is not set reads as null, a text as "".
  Value field(std::size_t index) const override;
  bool equals(const ObjectSource& other) const override;

 private:
  const std::string type_;
  const std::vector<MessageField> fields_;
  const std::vector<Field>* const declared_;
};

// The type of `name{…}`; null for an unknown name. `fields`: of a built-in message; those of a declared
// object stay in the environment.
TypeRef message_type(std::string_view name, const Environment& environment, std::vector<Field>& fields);

// The value of the literal `name{fields}`.
Value message_value(const std::string& name, std::vector<MessageField> fields,
                    const Environment& environment);

}  // namespace berth::cel
