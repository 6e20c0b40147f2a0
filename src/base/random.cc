#include "base/random.h"

#include <sys/random.h>

#include <cstdio>

#include "base/assert.h"
#include "base/safe_alphabet.h"

namespace berth {

std::uint64_t Random::below(std::uint64_t bound) {
  BERTH_ASSERT(bound > 0, "a random number needs a positive bound");
  const std::uint64_t unfair = (0 - bound) % bound;
  std::uint64_t drawn = next();
  while (drawn < unfair) drawn = next();
  return drawn % bound;
}

std::string Random::uuid() {
  const std::uint64_t high = (next() & ~0xf000ull) | 0x4000ull;
  const std::uint64_t low = (next() & ~(3ull << 62)) | (2ull << 62);
  char text[40];
  std::snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%012llx", static_cast<unsigned>(high >> 32),
                static_cast<unsigned>(high >> 16 & 0xffff), static_cast<unsigned>(high & 0xffff),
                static_cast<unsigned>(low >> 48), static_cast<unsigned long long>(low & 0xffffffffffffull));
  return text;
}

std::string Random::name_suffix(std::size_t length) {
  std::string suffix(length, ' ');
  for (char& c : suffix) c = kSafeAlphabet[below(kSafeAlphabet.size())];
  return suffix;
}

std::uint64_t SystemRandom::next() {
  std::uint64_t drawn = 0;
  const ssize_t got = getrandom(&drawn, sizeof drawn, 0);
  BERTH_ASSERT(got == sizeof drawn, "the kernel gives entropy");
  return drawn;
}

std::uint64_t SeededRandom::next() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace berth
