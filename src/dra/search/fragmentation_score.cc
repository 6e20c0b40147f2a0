#include "dra/search/fragmentation_score.h"

#include <algorithm>

#include "dra/pools/eligibility.h"

namespace berth::dra {
namespace {

constexpr Millionths kUnknown = -1;

}  // namespace

FragmentationScore::FragmentationScore(const model::Cluster& cluster, NodeDevices& devices)
    : cluster_(cluster), devices_(devices), worths_(devices.pools.size()) {
  counters_.reset(devices);
}

const PoolSizes& FragmentationScore::sizes_of(std::uint32_t index) {
  NodePool& pool = devices_.pools[index];
  if (!pool.sizes) pool.sizes = std::make_shared<const PoolSizes>(pool);
  return *pool.sizes;
}

bool FragmentationScore::feeds(std::uint32_t pool, const CounterDraws& draws) const {
  return draws.empty() || (!devices_.pools[pool].overdrawn && counters_.admits(pool, draws));
}

// For a shareable device: the remaining fraction of its scarcest capacity.
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

Millionths FragmentationScore::worth_of(std::uint32_t index, PoolSizes::Member member) const {
  const NodePool& pool = devices_.pools[index];
  const Slice& slice = *pool.slices[member.slice];
  const model::DeviceId device = slice.devices[member.device];
  const model::DeviceUse& use = cluster_.ledger().device(device);
  const bool shareable = slice.shareable.test(member.device);
  const bool taken = worths_[index][member.index].times_taken > 0;
  if (use.dedicated > 0 || (!shareable && (taken || !use.free()))) return 0;
  const bool carries = shareable && (taken || use.shares > 0);
  if (!carries && !pool.draws.empty() && !feeds(index, pool.draws[member.slice][member.device])) return 0;
  const Millionths size = pool.sizes->sizes[member.index];
  if (!shareable) return size;
  const Millionths left = left_of(index, member);
  return static_cast<Millionths>(static_cast<__int128>(size) * left * left / (kWhole * kWhole));
}

void FragmentationScore::remember_worth(std::uint32_t pool, PoolSizes::Member member) {
  Millionths& worth = worths_[pool][member.index].worth;
  if (worth == kUnknown) worth = worth_of(pool, member);
}

void FragmentationScore::update_worth(std::uint32_t pool, PoolSizes::Member member) {
  Millionths& worth = worths_[pool][member.index].worth;
  if (worth == 0) return;  // charges only lower it
  const Millionths now = worth_of(pool, member);
  if (now == worth) return;
  worth_journal_.push_back({pool, member.index, worth});
  score_.lost += worth - now;
  worth = now;
}

void FragmentationScore::take(DeviceRef place, const CapacityMap& consumed) {
  const DeviceRun& run = devices_.order[place.device_run];
  const PoolSizes& sizes = sizes_of(run.pool);
  if (worths_[run.pool].empty()) worths_[run.pool].assign(sizes.sizes.size(), {kUnknown, 0});
  const Slice& slice = devices_.slice_of(run);
  const auto device = static_cast<std::uint32_t>(place.device);
  const PoolSizes::Member self{run.slice, device, sizes.first[run.slice] + device};
  std::uint32_t& times_taken = worths_[run.pool][self.index].times_taken;
  const bool used = times_taken > 0 || !cluster_.ledger().device(slice.devices[device]).free();
  const bool is_further_share = used && slice.shareable.test(device);
  const CounterDraws& draws = is_further_share ? kNoDraws : devices_.draws_at(place);
  const auto for_each_affected = [&](const auto& visit) {
    visit(self);
    for (const CounterDraw& draw : draws)
      for (const PoolSizes::Member& member : sizes.members[draw.set]) visit(member);
  };
  for_each_affected([&](const PoolSizes::Member& member) { remember_worth(run.pool, member); });
  taken_.push_back({run.pool, self.index, consumed, score_, counters_.mark(), worth_journal_.size()});
  ++times_taken;
  score_.with_binding_conditions += slice.has_binding_conditions.test(device) ? 1 : 0;
  score_.fresh += used ? 0 : 1;
  counters_.charge(run.pool, draws);
  for_each_affected([&](const PoolSizes::Member& member) { update_worth(run.pool, member); });
}

void FragmentationScore::undo_last() {
  const Taken& last = taken_.back();
  counters_.undo_to(last.counters);
  for (; worth_journal_.size() > last.worths; worth_journal_.pop_back()) {
    const WorthUndo& undo = worth_journal_.back();
    worths_[undo.pool][undo.index].worth = undo.old;
  }
  --worths_[last.pool][last.index].times_taken;
  score_ = last.before;
  taken_.pop_back();
}

// A share may cost little on a device that is in use, whatever it costs now.
AllocationScore FragmentationScore::least_of(DeviceRef place) {
  const DeviceRun& run = devices_.order[place.device_run];
  const Slice& slice = devices_.slice_of(run);
  AllocationScore least;
  least.with_binding_conditions = slice.has_binding_conditions.test(place.device) ? 1 : 0;
  if (slice.shareable.test(place.device)) return least;
  const PoolSizes& sizes = sizes_of(run.pool);
  least.lost = sizes.sizes[sizes.first[run.slice] + place.device];
  least.fresh = 1;
  return least;
}

}  // namespace berth::dra
