// A set of devices of one slice: one bit a device.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace berth::dra {

// Source: resource.k8s.io/v1 ResourceSliceMaxDevices.
inline constexpr std::size_t kSliceDevicesMax = 128;

class Mask {
 public:
  constexpr Mask() = default;
  static constexpr Mask first(std::size_t count) {
    Mask mask;
    for (std::size_t i = 0; i < count; ++i) mask.set(i);
    return mask;
  }
  static constexpr Mask of(std::uint64_t low, std::uint64_t high) { return Mask(low, high); }
  constexpr bool test(std::size_t i) const { return (words_[i / 64] >> (i % 64)) & 1; }
  constexpr void set(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  constexpr void reset(std::size_t i) { words_[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }
  constexpr bool any() const { return (words_[0] | words_[1]) != 0; }
  constexpr std::size_t count() const {
    return static_cast<std::size_t>(std::popcount(words_[0]) + std::popcount(words_[1]));
  }
  // The first member at or after `from`; kSliceDevicesMax without one.
  constexpr std::size_t next(std::size_t from) const {
    for (std::size_t word = from / 64; word < 2; ++word) {
      const std::uint64_t cut =
          word == from / 64 ? words_[word] & (~std::uint64_t{0} << (from % 64)) : words_[word];
      if (cut != 0) return word * 64 + static_cast<std::size_t>(std::countr_zero(cut));
    }
    return kSliceDevicesMax;
  }
  // Members at or after `from`.
  constexpr Mask from(std::size_t from) const {
    Mask mask = *this;
    for (std::size_t word = 0; word < 2; ++word) {
      if (from >= (word + 1) * 64)
        mask.words_[word] = 0;
      else if (from > word * 64)
        mask.words_[word] &= ~std::uint64_t{0} << (from % 64);
    }
    return mask;
  }

  friend constexpr Mask operator&(Mask a, Mask b) {
    return Mask(a.words_[0] & b.words_[0], a.words_[1] & b.words_[1]);
  }
  friend constexpr Mask operator|(Mask a, Mask b) {
    return Mask(a.words_[0] | b.words_[0], a.words_[1] | b.words_[1]);
  }
  friend constexpr Mask operator~(Mask a) { return Mask(~a.words_[0], ~a.words_[1]); }
  friend constexpr bool operator==(Mask, Mask) = default;

 private:
  constexpr Mask(std::uint64_t low, std::uint64_t high) : words_{low, high} {}
  std::array<std::uint64_t, 2> words_ = {0, 0};
};

}  // namespace berth::dra
