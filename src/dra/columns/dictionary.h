// The distinct values of one column, each with a small number.
//
// Owner: one Column. Code 0 is "no value"; codes count up from 1 and are never given to another value.
// Cost: a look-up one hash; a value 16 bytes, 6 to 12 in the index, and its text.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cel/value.h"
#include "dra/columns/value_key.h"

namespace berth::dra {

inline constexpr std::uint32_t kNoValue = 0;

class Dictionary {
 public:
  // All codes are below this.
  std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }
  // kNoValue when absent.
  std::uint32_t find(const ValueKey& key) const;
  // Whether the code represents this attribute or amount.
  template <class Value>
  bool holds(std::uint32_t code, const Value& value) const {
    return is_key_of(key_at(code), value);
  }
  // Adds an absent key. `value` is the value itself where the key is Encoded.
  std::uint32_t add(const ValueKey& key, cel::Value value);
  // The value of a code above 0; it borrows texts from the dictionary.
  cel::Value at(std::uint32_t code) const;
  // Whether any of them is a version or an amount.
  bool has_library_values() const { return has_library_values_; }
  ValueKey key_at(std::uint32_t code) const {
    const DictionaryValue& entry = entries_[code];
    switch (entry.form) {
      case ValueKey::Form::Text:
        return {entry.form, 0, {entry.text, entry.length}};
      case ValueKey::Form::Encoded:
        return {entry.form, 0, {entry.text + sizeof(std::uint32_t), entry.length}};
      default:
        return {entry.form, entry.number, {}};
    }
  }

  std::size_t bytes() const;

 private:
  struct DictionaryValue {
    ValueKey::Form form = ValueKey::Form::None;
    std::uint32_t length = 0;
    union {
      std::int64_t number = 0;
      const char* text;  // Encoded: behind the index into others_
    };
  };
  static std::uint64_t hash_of(const ValueKey& key);
  const char* keep(std::string_view prefix, std::string_view text);
  void grow_index();

  std::vector<DictionaryValue> entries_ = std::vector<DictionaryValue>(1);
  std::vector<std::uint32_t> index_;  // open addressing; 0 is free
  std::vector<cel::Value> others_;
  bool has_library_values_ = false;
  std::vector<std::unique_ptr<char[]>> chunks_;
  std::size_t chunk_used_ = 0, chunk_size_ = 0, chunk_bytes_ = 0;
};

}  // namespace berth::dra
