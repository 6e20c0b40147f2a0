#include "scheduling/tournament_tree.h"

#include <algorithm>
#include <bit>

namespace berth::scheduling {

void TournamentTree::start(std::span<const std::int64_t> keys) {
  const std::size_t leaves = std::bit_ceil(std::max<std::size_t>(keys.size(), 2));
  keys_.assign(leaves, kOut);
  std::copy(keys.begin(), keys.end(), keys_.begin());
  winners_.resize(2 * leaves);
  for (std::size_t i = 0; i < leaves; ++i) winners_[leaves + i] = static_cast<std::uint32_t>(i);
  for (std::size_t match = leaves; --match > 0;) winners_[match] = winner_of(match);
}

void TournamentTree::set(std::size_t position, std::int64_t key) {
  if (keys_[position] == key) return;
  keys_[position] = key;
  for (std::size_t match = (keys_.size() + position) / 2; match > 0; match /= 2)
    winners_[match] = winner_of(match);
}

}  // namespace berth::scheduling
