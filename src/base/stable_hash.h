// A hash that is the same in every run and on every machine, for names that must be derived again.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/fnv.h"

namespace berth {

// FNV-1a, then mixed so that every bit depends on every character.
constexpr std::uint64_t stable_hash(std::string_view text) {
  std::uint64_t hash = fnv1a(text);
  hash = (hash ^ (hash >> 31)) * 0x94d049bb133111ebull;
  return hash ^ (hash >> 29);
}

}  // namespace berth
