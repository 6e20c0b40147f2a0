// A growable set of small numbers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth::dra {

class Bits {
 public:
  Bits() = default;
  explicit Bits(std::size_t size) : words_((size + 63) / 64) {}

  bool test(std::size_t i) const { return (words_[i / 64] >> (i % 64)) & 1; }
  void set(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  void reset(std::size_t i) { words_[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }
  void clear() { words_.assign(words_.size(), 0); }
  std::size_t count() const {
    std::size_t sum = 0;
    for (const std::uint64_t word : words_) sum += static_cast<std::size_t>(std::popcount(word));
    return sum;
  }
  // The first member at or after `from`; end() without one.
  std::size_t next(std::size_t from) const {
    for (std::size_t word = from / 64; word < words_.size(); ++word) {
      const std::uint64_t cut =
          word == from / 64 ? words_[word] & (~std::uint64_t{0} << (from % 64)) : words_[word];
      if (cut != 0) return word * 64 + static_cast<std::size_t>(std::countr_zero(cut));
    }
    return end();
  }
  std::size_t end() const { return words_.size() * 64; }

  Bits& operator|=(const Bits& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
    return *this;
  }
  Bits& operator&=(const Bits& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
    return *this;
  }
  friend bool operator==(const Bits&, const Bits&) = default;

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace berth::dra
