#include "dra/pools/pool_sizes.h"

#include <algorithm>

namespace berth::dra {

Millionths part_of(Quantity part, Quantity whole) {
  __int128 p = part.nanos(), w = whole.nanos();
  if (p <= 0) return 0;
  if (p >= w) return kWhole;
  constexpr __int128 kLarge = __int128{1} << 100;
  if (p > kLarge) {
    p /= kWhole;
    w /= kWhole;
  }
  return static_cast<Millionths>(p * kWhole / w);
}

PoolSizes::PoolSizes(const NodePool& pool) : members(pool.set_names.size()), counters(pool.set_names.size()) {
  std::size_t set = 0;
  std::uint32_t slot = 0;
  for (const SlicePtr& slice : pool.slices)
    for (const api::CounterSet& declared : slice->live->shared_counters) {
      if (set == counters.size()) break;
      const auto count = static_cast<std::uint32_t>(declared.counters.size());
      counters[set++] = {slot, count};
      slot += count;
    }
  for (std::uint32_t s = 0; s < pool.slices.size(); ++s) {
    first.push_back(static_cast<std::uint32_t>(sizes.size()));
    for (std::uint32_t d = 0; d < pool.slices[s]->live->devices.size(); ++d) {
      const auto index = static_cast<std::uint32_t>(sizes.size());
      Millionths& size = sizes.emplace_back(kWhole);
      if (pool.draws.empty() || pool.draws[s][d].empty()) continue;
      size = 0;
      for (const CounterDraw& draw : pool.draws[s][d]) {
        Millionths sum = 0;
        for (const auto& [slot, amount] : draw.counters) sum += part_of(amount, pool.declared[slot]);
        size += sum / std::max<Millionths>(counters[draw.set].count, 1);
        members[draw.set].push_back({s, d, index});
      }
    }
  }
}

}  // namespace berth::dra
