// FNV-1a: the same number for the same bytes in every run and on every machine. Not for hostile input.
#pragma once

#include <cstdint>
#include <string_view>

namespace berth {

inline constexpr std::uint64_t kFnvStart = 0xcbf29ce484222325u;

// `start`: kFnvStart, or the hash of the bytes before the text.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t start = kFnvStart) {
  for (const char c : text) start = (start ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return start;
}

}  // namespace berth
