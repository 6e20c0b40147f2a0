// Bytes that are equal exactly when the values appended to them, in order, are equal: keys of caches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace berth {

// The value's own bytes: as many for every value of its type.
template <class Plain>
void append_plain(std::string& key, const Plain& value) {
  static_assert(std::is_trivially_copyable_v<Plain>);
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// As varint: seven bits a byte, the lowest first.
inline void append_key(std::string& key, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) key += static_cast<char>(number | 0x80);
  key += static_cast<char>(number);
}

// Prefixed with its length, so that adjacent parts stay distinct.
inline void append_key(std::string& key, std::string_view text) {
  append_key(key, static_cast<std::uint64_t>(text.size()));
  key += text;
}

}  // namespace berth
