// The first position with the highest key, under changes of single keys. Which of two positions is the first
// is the caller's: his labels may change as long as their order does not.
//
// Cost: set() O(log n), best() O(1), start() O(n), and set() at a position that is new once in a doubling.
// Memory: 16 bytes a position, rounded up to a power of two.
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
  using Labels = std::span<const std::uint64_t>;  // by position; of equal keys the lowest label wins

  void start(std::span<const std::int64_t> keys, Labels labels);
  void set(std::size_t position, std::int64_t key, Labels labels);
  std::int64_t key(std::size_t position) const { return position < keys_.size() ? keys_[position] : kOut; }
  bool empty() const { return keys_.empty() || keys_[winners_[1]] == kOut; }
  // Requires !empty().
  std::size_t best() const { return winners_[1]; }

 private:
  std::uint32_t winner_of(std::size_t match, Labels labels) const {
    const std::uint32_t left = winners_[2 * match], right = winners_[2 * match + 1];
    if (keys_[left] != keys_[right]) return keys_[left] > keys_[right] ? left : right;
    return keys_[left] == kOut || labels[left] <= labels[right] ? left : right;
  }
  void play_all(Labels labels);

  std::vector<std::int64_t> keys_;      // padded with kOut to a power of two
  std::vector<std::uint32_t> winners_;  // match m is between the winners of 2m and 2m+1; leaves at the end
};

}  // namespace berth::scheduling
