// An attribute's value as a CEL value, and the equality of two values.
//
// Cost: a scalar needs no heap, a list one vector. Source: KEP-4381 attributes, KEP-5491 lists.
#pragma once

#include <cstring>
#include <optional>
#include <string>

#include "api/types/dra.h"
#include "cel/dra_environment.h"
#include "cel/program.h"
#include "cel/value.h"

namespace berth::dra {

enum class Ownership : std::uint8_t { Borrowed, Owned };

// Nothing for an absent value, and for a version that does not parse (the API server refuses it). Borrowed:
// texts refer to `value`.
std::optional<cel::Value> cel_value(const api::AttributeValue& value, Ownership ownership);

// A selector's run-time error, in Kubernetes' words; a hint is its cause.
Error runtime_error(const cel::Failure& failure);
// The device as a selector sees it; borrows from `device`.
cel::DeviceRecord record_of(std::string_view driver, const api::Device& device);

// Equality of texts; inline, because most texts here are short and equal.
inline bool same_text(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  const auto word_at = [](std::string_view text, std::size_t at) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, sizeof word);
    return word;
  };
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  if (a.size() < kWord) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a[i] != b[i]) return false;
    return true;
  }
  for (std::size_t i = 0; i + kWord < a.size(); i += kWord)
    if (word_at(a, i) != word_at(b, i)) return false;
  return word_at(a, a.size() - kWord) == word_at(b, a.size() - kWord);
}

// A key that identifies a typed value: a number, or text that is unambiguous within its form.
struct ValueKey {
  enum class Form : std::uint8_t { None, Int, Bool, Text, Encoded } form = Form::None;
  std::int64_t number = 0;
  std::string_view text;
  friend bool operator==(const ValueKey& a, const ValueKey& b) {
    return a.form == b.form && a.number == b.number && same_text(a.text, b.text);
  }
};

// `scratch` holds the text of a value that is not text itself, until its next use.
ValueKey key_of(const api::AttributeValue& value, std::string& scratch);
ValueKey key_of(const Quantity& amount, std::string& scratch);
// Whether key_of(value) is `key`; most keys need not be built for that.
bool is_key_of(const ValueKey& key, const api::AttributeValue& value);
bool is_key_of(const ValueKey& key, const Quantity& amount);
// For an int, bool or string.
ValueKey key_of(const cel::Value& scalar);

}  // namespace berth::dra
