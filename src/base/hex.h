// Hexadecimal digits, and the encodings that use them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ascii.h"

namespace berth {

inline constexpr std::string_view kHexLower = "0123456789abcdef";
inline constexpr std::string_view kHexUpper = "0123456789ABCDEF";

// 0 to 15; -1 for any other character.
constexpr int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Two digits.
inline void append_hex(std::string& out, unsigned char byte, std::string_view digits) {
  out += digits[byte >> 4];
  out += digits[byte & 15];
}

// Characters that a URL holds unescaped, besides letters and digits.
inline constexpr std::string_view kPlainInSegment = "-._~", kPlainInPath = "-._~/:@";

// "a%2Fb": letters, digits and `plain` stay, every other byte becomes an escape.
inline std::string percent_encoded(std::string_view text, std::string_view plain) {
  std::string out;
  for (const char c : text) {
    if (is_alphanumeric(c) || plain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += '%';
      append_hex(out, static_cast<unsigned char>(c), kHexUpper);
    }
  }
  return out;
}

// 16 digits in lower case.
inline std::string hex_of(std::uint64_t number) {
  std::string hex;
  for (int shift = 56; shift >= 0; shift -= 8)
    append_hex(hex, static_cast<unsigned char>(number >> shift), kHexLower);
  return hex;
}

}  // namespace berth
