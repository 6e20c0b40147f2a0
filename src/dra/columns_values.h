// An attribute's value in the terms of CEL, and whether two values are the same one.
//
// Cost: a scalar needs no heap, a list one vector. Source: KEP-4381 attributes, KEP-5491 lists.
#pragma once

#include <optional>
#include <string>

#include "api/types/dra.h"
#include "cel/dra_environment.h"
#include "cel/value.h"

namespace berth::dra {

enum class Ownership : std::uint8_t { Borrowed, Owned };

// Nothing for no value, and for a version that does not parse: it is left out, as the API server has refused
// it. Borrowed: texts refer to `value`.
std::optional<cel::Value> cel_value(const api::AttributeValue& value, Ownership ownership);

// The device as a selector sees it; borrows from `device`.
cel::DeviceRecord record_of(std::string_view driver, const api::Device& device);

// What tells one typed value from another: a number, or text that is unambiguous within its form.
struct ValueKey {
  enum class Form : std::uint8_t { None, Int, Bool, Text, Encoded } form = Form::None;
  std::int64_t number = 0;
  std::string_view text;
  friend bool operator==(const ValueKey&, const ValueKey&) = default;
};

// `scratch` holds the text of what is not text itself, until the next use.
ValueKey key_of(const api::AttributeValue& value, std::string& scratch);
ValueKey key_of(const Quantity& amount, std::string& scratch);
// Of an int, bool or string.
ValueKey key_of(const cel::Value& scalar);

}  // namespace berth::dra
