#include "dra/search/counter_ledger.h"

#include <algorithm>

namespace berth::dra {

void CounterLedger::reset(const NodeDevices& devices) {
  devices_ = &devices;
  copies_.resize(devices.pools.size());
  for (Copy& copy : copies_) copy.copied = false;
  counter_journal_.clear();
  group_journal_.clear();
}

bool CounterLedger::admits(std::uint32_t pool, const CounterDraws& draws) const {
  const std::vector<Quantity>& left = available(pool);
  const std::vector<GroupState>& held = groups(pool);
  return std::all_of(draws.begin(), draws.end(), [&](const CounterDraw& draw) {
    return held[draw.set].admits(draw.groups) &&
           std::all_of(draw.counters.begin(), draw.counters.end(),
                       [&](const auto& counter) { return counter.second <= left[counter.first]; });
  });
}

CounterLedger::Copy& CounterLedger::copy_of(std::uint32_t pool) {
  Copy& copy = copies_[pool];
  if (!copy.copied) {
    copy.available = devices_->pools[pool].available;
    copy.groups = devices_->pools[pool].groups;
    copy.copied = true;
  }
  return copy;
}

void CounterLedger::charge(std::uint32_t pool, const CounterDraws& draws) {
  if (draws.empty()) return;
  Copy& copy = copy_of(pool);
  for (const CounterDraw& draw : draws) {
    for (const auto& [counter, amount] : draw.counters) {
      counter_journal_.push_back({pool, counter, copy.available[counter]});
      copy.available[counter] -= amount;
    }
    group_journal_.push_back({pool, draw.set, copy.groups[draw.set]});
    copy.groups[draw.set].admit(draw.groups);
  }
}

void CounterLedger::undo_to(Mark mark) {
  for (; counter_journal_.size() > mark.counters; counter_journal_.pop_back()) {
    const CounterUndo& undo = counter_journal_.back();
    copies_[undo.pool].available[undo.counter] = undo.old;
  }
  for (; group_journal_.size() > mark.groups; group_journal_.pop_back()) {
    GroupUndo& undo = group_journal_.back();
    copies_[undo.pool].groups[undo.set] = std::move(undo.old);
  }
}

}  // namespace berth::dra
