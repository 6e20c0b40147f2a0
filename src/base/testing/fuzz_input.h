// The bytes of a fuzz target taken as choices, numbers and texts. When they end, everything is zero or empty.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace berth::fuzz {

class Input {
 public:
  Input(const std::uint8_t* bytes, std::size_t size) : at_(bytes), left_(size) {}

  std::size_t left() const { return left_; }
  bool flag() { return (byte() & 1) != 0; }
  // From `low` to `high`, both included.
  std::int64_t number(std::int64_t low, std::int64_t high) {
    const auto range = static_cast<std::uint64_t>(high - low) + 1;
    std::uint64_t drawn = 0;
    for (std::uint64_t covered = 1; covered < range; covered <<= 8) drawn = (drawn << 8) | byte();
    return low + static_cast<std::int64_t>(drawn % range);
  }
  std::size_t index(std::size_t count) {
    return static_cast<std::size_t>(number(0, static_cast<std::int64_t>(count) - 1));
  }
  // At most `bytes_max` bytes, any of them.
  std::string text(std::size_t bytes_max) {
    const std::size_t wanted = index(bytes_max + 1);
    const std::size_t size = std::min(wanted, left_);
    std::string taken(reinterpret_cast<const char*>(at_), size);
    at_ += size;
    left_ -= size;
    return taken;
  }

 private:
  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *at_++;
  }

  const std::uint8_t* at_;
  std::size_t left_;
};

}  // namespace berth::fuzz
