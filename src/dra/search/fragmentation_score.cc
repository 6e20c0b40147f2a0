#include "dra/search/fragmentation_score.h"

#include <algorithm>

namespace berth::dra {
namespace {

constexpr Millionths kUnknown = -1;

}  // namespace

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

PoolSizes::PoolSizes(const NodePool& pool) : members(pool.set_names.size()) {
  std::vector<Millionths> counters(pool.set_names.size());  // declared in each set
  std::size_t set = 0;
  for (const SlicePtr& slice : pool.slices)
    for (const api::CounterSet& declared : slice->live->shared_counters)
      if (set < counters.size()) counters[set++] = static_cast<Millionths>(declared.counters.size());
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
        size += sum / std::max<Millionths>(counters[draw.set], 1);
        members[draw.set].push_back({s, d, index});
      }
    }
  }
}

FragmentationScore::FragmentationScore(const model::Cluster& cluster, NodeDevices& devices)
    : cluster_(cluster), devices_(devices), pools_(devices.pools.size()) {}

const PoolSizes& FragmentationScore::sizes_of(std::uint32_t index) {
  NodePool& pool = devices_.pools[index];
  if (!pool.sizes) pool.sizes = std::make_shared<const PoolSizes>(pool);
  return *pool.sizes;
}

FragmentationScore::Pool& FragmentationScore::copy_of(std::uint32_t index) {
  Pool& pool = pools_[index];
  if (!pool.copied) {
    pool.copied = true;
    pool.available = devices_.pools[index].available;
    pool.groups = devices_.pools[index].groups;
    pool.worth.assign(sizes_of(index).sizes.size(), kUnknown);
  }
  return pool;
}

bool FragmentationScore::is_taken(std::uint32_t pool, std::uint32_t index) const {
  return std::any_of(taken_.begin(), taken_.end(),
                     [&](const Taken& one) { return one.pool == pool && one.index == index; });
}

bool FragmentationScore::feeds(std::uint32_t pool, const std::vector<CounterDraw>& draws) const {
  const Pool& now = pools_[pool];
  if (draws.empty()) return true;
  if (devices_.pools[pool].overdrawn) return false;
  return std::all_of(draws.begin(), draws.end(), [&](const CounterDraw& draw) {
    return now.groups[draw.set].admits(draw.groups) &&
           std::all_of(draw.counters.begin(), draw.counters.end(),
                       [&](const auto& counter) { return counter.second <= now.available[counter.first]; });
  });
}

// Of a shareable device: the part that is left of the capacity that has the least left.
Millionths FragmentationScore::left_of(std::uint32_t pool, PoolSizes::Member member) const {
  const Slice& slice = *devices_.pools[pool].slices[member.slice];
  const model::DeviceUse& use = cluster_.ledger().device(slice.devices[member.device]);
  Millionths least = kWhole;
  for (const auto& [name, capacity] : slice.live->devices[member.device].capacity) {
    if (capacity.value <= Quantity()) continue;
    Quantity left = capacity.value - consumed_of(use, cluster_.capacities().find(name));
    for (const Taken& one : taken_) {
      if (one.pool != pool || one.index != member.index) continue;
      const auto consumed = one.consumed.find(name);
      if (consumed != one.consumed.end()) left -= consumed->second;
    }
    least = std::min(least, part_of(left, capacity.value));
  }
  return least;
}

Millionths FragmentationScore::usefulness_of(std::uint32_t index, PoolSizes::Member member) const {
  const NodePool& pool = devices_.pools[index];
  const Slice& slice = *pool.slices[member.slice];
  const model::DeviceId device = slice.devices[member.device];
  const model::DeviceUse& use = cluster_.ledger().device(device);
  const bool shareable = slice.shareable.test(member.device);
  const bool taken = is_taken(index, member.index);
  if (use.dedicated > 0 || (!shareable && (taken || !use.free()))) return 0;
  const bool carries = shareable && (taken || use.shares > 0);
  if (!carries && !pool.draws.empty() && !feeds(index, pool.draws[member.slice][member.device])) return 0;
  const Millionths size = pool.sizes->sizes[member.index];
  if (!shareable) return size;
  const Millionths left = left_of(index, member);
  return static_cast<Millionths>(static_cast<__int128>(size) * left * left / (kWhole * kWhole));
}

void FragmentationScore::know(std::uint32_t pool, PoolSizes::Member member) {
  Millionths& worth = pools_[pool].worth[member.index];
  if (worth == kUnknown) worth = usefulness_of(pool, member);
}

void FragmentationScore::renew(std::uint32_t pool, PoolSizes::Member member) {
  Millionths& worth = pools_[pool].worth[member.index];
  if (worth == 0) return;  // what is taken gives nothing back
  const Millionths now = usefulness_of(pool, member);
  if (now == worth) return;
  sizes_lost_.push_back({pool, member.index, worth});
  score_.lost += worth - now;
  worth = now;
}

void FragmentationScore::take(DeviceRef place, const CapacityMap& consumed) {
  const DeviceRun& device_run = devices_.order[place.device_run];
  const NodePool& pool = devices_.pools[device_run.pool];
  Pool& now = copy_of(device_run.pool);
  const Slice& slice = *pool.slices[device_run.slice];
  const auto device = static_cast<std::uint32_t>(place.device);
  const PoolSizes::Member self{device_run.slice, device, pool.sizes->first[device_run.slice] + device};
  const bool used =
      is_taken(device_run.pool, self.index) || !cluster_.ledger().device(slice.devices[device]).free();
  static const std::vector<CounterDraw> kNone;
  const bool draws = !pool.draws.empty() && !(used && slice.shareable.test(device));
  const std::vector<CounterDraw>& drawn = draws ? pool.draws[device_run.slice][device] : kNone;
  know(device_run.pool, self);
  for (const CounterDraw& draw : drawn)
    for (const PoolSizes::Member& member : pool.sizes->members[draw.set]) know(device_run.pool, member);
  taken_.push_back(
      {device_run.pool, self.index, consumed, score_, counters_.size(), groups_.size(), sizes_lost_.size()});
  score_.with_binding_conditions += slice.has_binding_conditions.test(device) ? 1 : 0;
  score_.fresh += used ? 0 : 1;
  for (const CounterDraw& draw : drawn) {
    for (const auto& [slot, amount] : draw.counters) {
      counters_.push_back({device_run.pool, slot, now.available[slot]});
      now.available[slot] -= amount;
    }
    groups_.push_back({device_run.pool, draw.set, now.groups[draw.set]});
    now.groups[draw.set].admit(draw.groups);
  }
  renew(device_run.pool, self);
  for (const CounterDraw& draw : drawn)
    for (const PoolSizes::Member& member : pool.sizes->members[draw.set]) renew(device_run.pool, member);
}

void FragmentationScore::undo_last() {
  const Taken& last = taken_.back();
  for (; counters_.size() > last.counters; counters_.pop_back())
    pools_[counters_.back().pool].available[counters_.back().slot] = counters_.back().old;
  for (; groups_.size() > last.groups; groups_.pop_back())
    pools_[groups_.back().pool].groups[groups_.back().set] = std::move(groups_.back().old);
  for (; sizes_lost_.size() > last.worths; sizes_lost_.pop_back())
    pools_[sizes_lost_.back().pool].worth[sizes_lost_.back().index] = sizes_lost_.back().old;
  score_ = last.before;
  taken_.pop_back();
}

// A share can come cheap on a device that is in use, whatever it costs now.
AllocationScore FragmentationScore::least_of(DeviceRef place) {
  const DeviceRun& device_run = devices_.order[place.device_run];
  const Slice& slice = *devices_.pools[device_run.pool].slices[device_run.slice];
  AllocationScore least;
  least.with_binding_conditions = slice.has_binding_conditions.test(place.device) ? 1 : 0;
  if (slice.shareable.test(place.device)) return least;
  const PoolSizes& sizes = sizes_of(device_run.pool);
  least.lost = sizes.sizes[sizes.first[device_run.slice] + place.device];
  least.fresh = 1;
  return least;
}

}  // namespace berth::dra
