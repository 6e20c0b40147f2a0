// The first position with the highest key, under changes of single keys. Which of two positions is the first
// is the caller's: `label_of(position)` gives labels, of which the lower one wins; they may change as long as
// their order does not.
//
// Cost: set() O(log n), best() O(1), start() O(n), and set() at a position that is new once in a doubling.
// Memory: 16 bytes a position, rounded up to a power of two.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace berth::placement {

class TournamentTree {
 public:
  // The key of a position that does not take part.
  static constexpr std::int64_t kOut = std::numeric_limits<std::int64_t>::min();

  template <class LabelOf>
  void start(std::span<const std::int64_t> keys, LabelOf label_of) {
    keys_.assign(std::bit_ceil(std::max<std::size_t>(keys.size(), 2)), kOut);
    std::copy(keys.begin(), keys.end(), keys_.begin());
    play_all(label_of);
  }
  template <class LabelOf>
  void set(std::size_t position, std::int64_t key, LabelOf label_of) {
    if (this->key(position) != key) replay(position, key, label_of);
  }
  // As set(), where the label of the position may have changed its place in the order.
  template <class LabelOf>
  void replay(std::size_t position, std::int64_t key, LabelOf label_of) {
    if (position >= keys_.size()) {
      keys_.resize(std::bit_ceil(std::max<std::size_t>(position + 1, 2)), kOut);
      play_all(label_of);
    }
    keys_[position] = key;
    for (std::size_t match = (keys_.size() + position) / 2; match > 0; match /= 2) {
      const std::uint32_t before = winners_[match];
      winners_[match] = winner_of(match, label_of);
      if (winners_[match] == before && before != position) return;  // later matches are as they were
    }
  }
  std::size_t bytes() const {
    return keys_.size() * sizeof(keys_[0]) + winners_.size() * sizeof(winners_[0]);
  }
  std::int64_t key(std::size_t position) const { return position < keys_.size() ? keys_[position] : kOut; }
  bool empty() const { return keys_.empty() || keys_[winners_[1]] == kOut; }
  // Requires !empty().
  std::size_t best() const { return winners_[1]; }

 private:
  template <class LabelOf>
  std::uint32_t winner_of(std::size_t match, LabelOf label_of) const {
    const std::uint32_t left = winners_[2 * match], right = winners_[2 * match + 1];
    if (keys_[left] != keys_[right]) return keys_[left] > keys_[right] ? left : right;
    return keys_[left] == kOut || label_of(left) <= label_of(right) ? left : right;
  }
  template <class LabelOf>
  void play_all(LabelOf label_of) {
    const std::size_t leaves = keys_.size();
    winners_.resize(2 * leaves);
    for (std::size_t i = 0; i < leaves; ++i) winners_[leaves + i] = static_cast<std::uint32_t>(i);
    for (std::size_t match = leaves; --match > 0;) winners_[match] = winner_of(match, label_of);
  }

  std::vector<std::int64_t> keys_;      // padded with kOut to a power of two
  std::vector<std::uint32_t> winners_;  // match m is between the winners of 2m and 2m+1; leaves at the end
};

}  // namespace berth::placement
