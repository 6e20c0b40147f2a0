#include "scheduling/tournament_tree.h"

#include <algorithm>
#include <bit>

namespace berth::scheduling {

void TournamentTree::start(std::span<const std::int64_t> keys, Labels labels) {
  keys_.assign(std::bit_ceil(std::max<std::size_t>(keys.size(), 2)), kOut);
  std::copy(keys.begin(), keys.end(), keys_.begin());
  play_all(labels);
}

void TournamentTree::play_all(Labels labels) {
  const std::size_t leaves = keys_.size();
  winners_.resize(2 * leaves);
  for (std::size_t i = 0; i < leaves; ++i) winners_[leaves + i] = static_cast<std::uint32_t>(i);
  for (std::size_t match = leaves; --match > 0;) winners_[match] = winner_of(match, labels);
}

void TournamentTree::set(std::size_t position, std::int64_t key, Labels labels) {
  if (this->key(position) == key) return;
  if (position >= keys_.size()) {
    keys_.resize(std::bit_ceil(position + 1), kOut);
    play_all(labels);
  }
  keys_[position] = key;
  for (std::size_t match = (keys_.size() + position) / 2; match > 0; match /= 2) {
    const std::uint32_t before = winners_[match];
    winners_[match] = winner_of(match, labels);
    if (winners_[match] == before && before != position) return;  // later matches are as they were
  }
}

}  // namespace berth::scheduling
