// What the devices of a node are still good for while an allocation is made up: the measure behind
// DeviceScoring::LeastFragmenting. The definition stands in docs/devices.md, "Which of several".
//
// Owner: one BranchAndBound, for one decision. Cost: take and undo O(devices that draw on the same counter
// sets); the first take from a pool O(its devices). Source: the gradient of FGD (fragmentation gradient
// descent), with a pool's own devices as the mix of what will be asked for.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "dra/pools/capacity.h"
#include "dra/pools/pool_sizes.h"
#include "dra/search/counter_ledger.h"

namespace berth::dra {

// Less is better; the fields in this order.
struct AllocationScore {
  std::int64_t with_binding_conditions = 0;  // devices with binding conditions
  Millionths lost = 0;     // what the pools' devices are worth before, less what they are worth after
  std::int64_t fresh = 0;  // devices that nobody used before

  friend AllocationScore operator+(const AllocationScore& a, const AllocationScore& b) {
    return {a.with_binding_conditions + b.with_binding_conditions, a.lost + b.lost, a.fresh + b.fresh};
  }
  friend auto operator<=>(const AllocationScore&, const AllocationScore&) = default;
};

class FragmentationScore {
 public:
  // `devices` stays as it is meanwhile. No pool of it has a device that gives to a counter.
  FragmentationScore(const model::Cluster& cluster, NodeDevices& devices);

  // The device, or a share of these amounts, is taken: nothing is checked.
  void take(DeviceRef place, const CapacityMap& consumed);
  void undo_last();
  // Of all that is taken now.
  const AllocationScore& score() const { return score_; }
  // The least that taking the device can add to any score.
  AllocationScore least_of(DeviceRef place);

 private:
  struct DeviceWorth {
    Millionths worth = 0;           // kUnknown until it is asked for
    std::uint32_t times_taken = 0;  // here
  };
  struct Taken {
    std::uint32_t pool = 0, index = 0;
    CapacityMap consumed;
    AllocationScore before;
    CounterLedger::Mark counters;
    std::size_t worths = 0;  // size of the journal before
  };
  struct WorthUndo {
    std::uint32_t pool, index;
    Millionths old;
  };

  const PoolSizes& sizes_of(std::uint32_t pool);
  bool feeds(std::uint32_t pool, const CounterDraws& draws) const;
  Millionths left_of(std::uint32_t pool, PoolSizes::Member member) const;
  Millionths worth_of(std::uint32_t pool, PoolSizes::Member member) const;
  void remember_worth(std::uint32_t pool, PoolSizes::Member member);
  void update_worth(std::uint32_t pool, PoolSizes::Member member);

  const model::Cluster& cluster_;
  NodeDevices& devices_;
  AllocationScore score_;
  CounterLedger counters_;
  std::vector<std::vector<DeviceWorth>> worths_;  // by pool and index
  std::vector<Taken> taken_;
  std::vector<WorthUndo> worth_journal_;
};

}  // namespace berth::dra
