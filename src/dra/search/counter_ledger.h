// What is left of the counters and compatibility groups of a node's pools while devices are being chosen,
// with the undo journal.
//
// Owner: one SearchState or FragmentationScore, on one thread. Cost: charge and undo O(counters of the
// device), no allocation once the journal has grown; the first charge of a pool copies its counters. Source:
// KEP-4815, KEP-5963; rules in docs/devices.md#counters.
#pragma once

#include <cstdint>
#include <vector>

#include "dra/pools/node_devices.h"

namespace berth::dra {

class CounterLedger {
 public:
  // Sizes of the journals at one moment.
  struct Mark {
    std::size_t counters = 0, groups = 0;
  };

  // Drops all charges: the pools of the node say what is left. `devices` must not change until the next
  // reset.
  void reset(const NodeDevices& devices);

  // Of the pool, by counter and by counter set.
  const std::vector<Quantity>& available(std::uint32_t pool) const {
    return copies_[pool].copied ? copies_[pool].available : devices_->pools[pool].available;
  }
  const std::vector<GroupState>& groups(std::uint32_t pool) const {
    return copies_[pool].copied ? copies_[pool].groups : devices_->pools[pool].groups;
  }
  // Whether all counters have enough left and all counter sets admit the groups.
  bool admits(std::uint32_t pool, const CounterDraws& draws) const;

  // Charges without a check: the rest may become negative.
  void charge(std::uint32_t pool, const CounterDraws& draws);
  Mark mark() const { return {counter_journal_.size(), group_journal_.size()}; }
  // Undoes every charge since the mark, latest first. Restores old values and never adds back: an
  // intersection of groups has no inverse.
  void undo_to(Mark mark);

 private:
  struct Copy {
    bool copied = false;
    std::vector<Quantity> available;
    std::vector<GroupState> groups;
  };
  struct CounterUndo {
    std::uint32_t pool, counter;
    Quantity old;
  };
  struct GroupUndo {
    std::uint32_t pool, set;
    GroupState old;
  };
  Copy& copy_of(std::uint32_t pool);

  const NodeDevices* devices_ = nullptr;
  std::vector<Copy> copies_;  // by pool
  std::vector<CounterUndo> counter_journal_;
  std::vector<GroupUndo> group_journal_;
};

}  // namespace berth::dra
