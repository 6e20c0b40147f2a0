// The characters of generated names: no vowels, so no words. Source: util/rand of apimachinery 1.37.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth {

inline constexpr std::string_view kSafeAlphabet = "bcdfghjklmnpqrstvwxz2456789";

// The `length` lowest digits of the number in this alphabet, the lowest first.
inline std::string safe_digits(std::uint64_t number, std::size_t length) {
  std::string digits;
  for (std::size_t i = 0; i < length; ++i, number /= kSafeAlphabet.size())
    digits += kSafeAlphabet[number % kSafeAlphabet.size()];
  return digits;
}

}  // namespace berth
