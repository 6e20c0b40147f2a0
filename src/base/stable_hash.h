// A hash that is the same in every run and on every machine, for names that must be found again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fnv.h"

namespace berth {

// FNV-1a, then mixed so that every bit depends on every character.
constexpr std::uint64_t stable_hash(std::string_view text) {
  std::uint64_t hash = fnv1a(text);
  hash = (hash ^ (hash >> 31)) * 0x94d049bb133111ebull;
  return hash ^ (hash >> 29);
}

// 16 hexadecimal digits.
inline std::string hex_of(std::uint64_t hash) {
  std::string hex(16, '0');
  for (auto digit = hex.rbegin(); digit != hex.rend(); ++digit, hash >>= 4)
    *digit = "0123456789abcdef"[hash & 15u];
  return hex;
}

}  // namespace berth
