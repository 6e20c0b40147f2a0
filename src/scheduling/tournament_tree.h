// The first position with the highest key, under changes of single keys.
//
// Cost: set() O(log n), best() O(1), start() O(n). Memory: 16 bytes a position, rounded up to a power of
// two.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace berth::scheduling {

class TournamentTree {
 public:
  // The key of a position that does not take part.
  static constexpr std::int64_t kOut = std::numeric_limits<std::int64_t>::min();

  void start(std::span<const std::int64_t> keys);
  void set(std::size_t position, std::int64_t key);
  std::int64_t key(std::size_t position) const { return keys_[position]; }
  bool empty() const { return keys_.empty() || keys_[winners_[1]] == kOut; }
  // Requires !empty().
  std::size_t best() const { return winners_[1]; }

 private:
  std::uint32_t winner_of(std::size_t match) const {
    const std::uint32_t left = winners_[2 * match], right = winners_[2 * match + 1];
    return keys_[left] >= keys_[right] ? left : right;
  }
  std::vector<std::int64_t> keys_;      // padded with kOut to a power of two
  std::vector<std::uint32_t> winners_;  // match m is between the winners of 2m and 2m+1; leaves at the end
};

}  // namespace berth::scheduling
