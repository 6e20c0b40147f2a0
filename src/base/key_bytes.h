// Bytes that are equal exactly when the values appended to them, in order, are equal: keys of caches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth {

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
