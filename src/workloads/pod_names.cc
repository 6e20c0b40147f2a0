#include "workloads/pod_names.h"

#include "base/safe_alphabet.h"
#include "base/stable_hash.h"

namespace berth::workloads {
namespace {

constexpr std::size_t kSuffixCharacters = 5, kPrefixBytesMax = 63 - kSuffixCharacters;
constexpr std::uint64_t kCount64 = NumberedNames::kCount;
// Coprime to 27^5, near the golden section of it: consecutive numbers look unlike each other.
constexpr std::uint64_t kStride = 8868083;

constexpr std::uint64_t inverse_of_stride() {
  std::uint64_t inverse = 1;  // Euler: stride^(phi - 1), phi(3^15) = 2 * 3^14
  std::uint64_t base = kStride;
  for (std::uint64_t power = 2ull * 4782969 - 1; power > 0; power >>= 1) {
    if (power & 1) inverse = inverse * base % kCount64;
    base = base * base % kCount64;
  }
  return inverse;
}
constexpr std::uint64_t kInverse = inverse_of_stride();
static_assert(kCount64 == 14348907 && kStride * kInverse % kCount64 == 1);

}  // namespace

NumberedNames::NumberedNames(std::string_view prefix, std::string_view seed)
    : prefix_(prefix.substr(0, kPrefixBytesMax)),
      offset_(static_cast<std::uint32_t>(stable_hash(seed) % kCount64)) {}

std::string NumberedNames::name(std::uint32_t n) const {
  return prefix_ + safe_digits((n % kCount64 * kStride + offset_) % kCount64, kSuffixCharacters);
}

std::optional<std::uint32_t> NumberedNames::number_of(std::string_view name) const {
  if (name.size() != prefix_.size() + kSuffixCharacters || !name.starts_with(prefix_)) return std::nullopt;
  std::uint64_t code = 0;
  for (std::size_t i = name.size(); i > prefix_.size(); --i) {
    const std::size_t digit = kSafeAlphabet.find(name[i - 1]);
    if (digit == std::string_view::npos) return std::nullopt;
    code = code * kSafeAlphabet.size() + digit;
  }
  return static_cast<std::uint32_t>((code + kCount64 - offset_) % kCount64 * kInverse % kCount64);
}

std::string safe_text(std::uint32_t number) {
  std::string text = std::to_string(number);
  for (char& digit : text) digit = kSafeAlphabet[static_cast<std::size_t>(digit) % kSafeAlphabet.size()];
  return text;
}

}  // namespace berth::workloads
