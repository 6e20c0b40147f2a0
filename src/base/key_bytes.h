// Bytes that are equal exactly when what was put into them, in order, is equal: keys of caches.
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

// With its length in front, so that parts never run into each other.
inline void append_key(std::string& key, std::string_view text) {
  append_key(key, static_cast<std::uint64_t>(text.size()));
  key += text;
}

}  // namespace berth
