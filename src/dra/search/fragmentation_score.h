// The remaining use of a node's devices while an allocation is composed: the measure of
// DeviceScoring::LeastFragmenting. Definition: docs/devices.md, "Which of several".
//
// Owner: one BranchAndBound, for one decision. Cost: take and undo O(devices that draw on the same counter
// sets); the first take from a pool O(its devices). Source: the gradient of FGD (fragmentation gradient
// descent), with a pool's own devices as the expected mix of requests.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "dra/pools/capacity.h"
#include "dra/pools/pool_sizes.h"
#include "dra/search/counter_ledger.h"

namespace berth::dra {

// Less is better; fields are compared in order.
struct AllocationScore {
  std::int64_t with_binding_conditions = 0;  // devices with binding conditions
  Millionths lost = 0;                       // worth of the pools' devices before, minus their worth after
  std::int64_t fresh = 0;                    // devices that were unused before

  friend AllocationScore operator+(const AllocationScore& a, const AllocationScore& b) {
    return {a.with_binding_conditions + b.with_binding_conditions, a.lost + b.lost, a.fresh + b.fresh};
  }
  friend auto operator<=>(const AllocationScore&, const AllocationScore&) = default;
};

class FragmentationScore {
 public:
  // `devices` must not change in that time. No pool of it has a device with a negative draw.
  FragmentationScore(const model::Cluster& cluster, NodeDevices& devices);

  // Takes the device, or a share of these amounts; checks nothing.
  void take(DeviceRef place, const CapacityMap& consumed);
  void undo_last();
  // The score of everything taken now.
  const AllocationScore& score() const { return score_; }
  // A lower bound of what taking the device adds to any score.
  AllocationScore least_of(DeviceRef place);

 private:
  struct DeviceWorth {
    Millionths worth = 0;           // kUnknown until it is read
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
