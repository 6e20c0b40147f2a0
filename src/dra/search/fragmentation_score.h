// What the devices of a node are still good for while an allocation is made up: the measure behind
// DeviceScoring::LeastFragmenting. The definition stands in docs/devices.md, "Which of several".
//
// Owner: one search, for one decision. Cost: take and undo O(devices that draw on the same counter sets); the
// first take from a pool O(its devices). Source: the gradient of FGD (fragmentation gradient descent), with a
// pool's own devices as the mix of what will be asked for.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "dra/pools/capacity.h"
#include "dra/pools/eligibility.h"
#include "dra/pools/inventory.h"

namespace berth::dra {

// In millionths of a whole counter set; a device that draws on none is a whole.
using Millionths = std::int64_t;
inline constexpr Millionths kWhole = 1'000'000;

// The part of the whole that `part` is, rounded down; 0 to kWhole.
Millionths part_of(Quantity part, Quantity whole);

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

// Sizes of all devices of a pool, and who draws on which counter set. Of the slices alone.
struct PoolSizes {
  explicit PoolSizes(const NodePool& pool);
  struct Member {
    std::uint32_t slice = 0, device = 0, index = 0;
  };
  std::vector<std::uint32_t> first;          // by slice: the index of its first device
  std::vector<Millionths> sizes;             // by index
  std::vector<std::vector<Member>> members;  // by counter set
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
  struct Pool {
    bool copied = false;
    std::vector<Quantity> available;
    std::vector<GroupState> groups;
    std::vector<Millionths> worth;  // by index; kUnknown until it is asked for
  };
  struct Taken {
    std::uint32_t pool = 0, index = 0;
    CapacityMap consumed;
    AllocationScore before;
    std::size_t counters = 0, groups = 0, worths = 0;  // sizes of the journals before
  };
  struct CounterUndo {
    std::uint32_t pool, slot;
    Quantity old;
  };
  struct GroupUndo {
    std::uint32_t pool, set;
    GroupState old;
  };
  struct WorthUndo {
    std::uint32_t pool, index;
    Millionths old;
  };

  const PoolSizes& sizes_of(std::uint32_t pool);
  Pool& copy_of(std::uint32_t pool);
  bool is_taken(std::uint32_t pool, std::uint32_t index) const;
  bool feeds(std::uint32_t pool, const std::vector<CounterDraw>& draws) const;
  Millionths left_of(std::uint32_t pool, PoolSizes::Member member) const;
  Millionths usefulness_of(std::uint32_t pool, PoolSizes::Member member) const;
  void know(std::uint32_t pool, PoolSizes::Member member);
  void renew(std::uint32_t pool, PoolSizes::Member member);

  const model::Cluster& cluster_;
  NodeDevices& devices_;
  AllocationScore score_;
  std::vector<Pool> pools_;
  std::vector<Taken> taken_;
  std::vector<CounterUndo> counters_;
  std::vector<GroupUndo> groups_;
  std::vector<WorthUndo> sizes_lost_;
};

}  // namespace berth::dra
