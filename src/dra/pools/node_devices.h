// The devices that one node can use, in search order, with what is left of the counters and groups of their
// pools.
//
// Owner: the Inventory, which keeps it current; all others only read. Source: KEP-4381, KEP-4815, KEP-5963.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dra/columns/device_columns.h"
#include "dra/columns/mask.h"
#include "dra/pools/value_table.h"
#include "model/cluster.h"

namespace berth::dra {

// One version of one slice, with the results that depend on it alone.
struct Slice {
  std::shared_ptr<const api::ResourceSlice> live;
  std::vector<model::DeviceId> devices;
  Mask shareable;
  Mask has_binding_conditions;
  SliceRows rows;
  // By expression: its result for each device.
  std::map<std::string, std::vector<Result<api::AttributeValue>>> derived;
};
using SlicePtr = std::shared_ptr<Slice>;

// What one device draws from one counter set of its pool, as indices into NodePool.
struct CounterDraw {
  std::uint32_t set = 0;
  std::vector<std::pair<std::uint32_t, Quantity>> counters;
  std::vector<std::uint32_t> groups;  // sorted; empty: ungrouped
};
using CounterDraws = std::vector<CounterDraw>;  // of one device
inline const CounterDraws kNoDraws;

// Rolling intersection of the groups of a counter set's members, in slice and device order.
struct GroupState {
  bool members = false;
  bool grouped = false;
  std::vector<std::uint32_t> groups;

  bool admits(const std::vector<std::uint32_t>& candidate) const {
    if (!members) return true;
    return grouped ? has_common(candidate) : candidate.empty();
  }
  void admit(const std::vector<std::uint32_t>& candidate);

 private:
  bool has_common(const std::vector<std::uint32_t>& candidate) const;
};

struct PoolSizes;  // pool_sizes.h

enum class PoolState : std::uint8_t { Usable, Incomplete, Invalid };

struct NodePool {
  model::PoolId id;
  PoolState state = PoolState::Usable;
  std::string fault;             // in words, with the pool's name; empty for a usable one
  std::vector<SlicePtr> slices;  // of the generation in use, also those for other nodes, by name
  std::vector<Mask> here;  // per slice: its devices that this node may use; empty for other nodes' slices
  bool has_binding_conditions = false;

  // Counters; empty when no device draws any.
  std::vector<std::string> set_names;
  std::vector<std::string> counter_names;  // "set/counter"
  std::vector<Quantity> declared;
  model::Names<DenseId<struct GroupTag>> group_names;
  std::vector<std::vector<CounterDraws>> draws;  // by slice and device
  bool negative_draws = false;                   // a device draws a negative amount from a counter
  std::shared_ptr<const PoolSizes> sizes;        // null until allocations are compared

  // The state of the ledger at `stamp`.
  std::uint64_t stamp = ~std::uint64_t{0};
  std::vector<Quantity> available;
  std::vector<GroupState> groups;
  bool overdrawn = false;  // a counter is negative: no device that draws counters fits (as in the reference)
};

// A run of devices of one slice, all with or all without binding conditions.
struct DeviceRun {
  std::uint32_t pool = 0;   // of NodeDevices::pools
  std::uint32_t slice = 0;  // of NodePool::slices
  std::uint32_t base = 0;   // flat number of the slice's first device
  Mask mask;                // devices to try
  Mask here;                // of these, the ones that this node may use
  Mask blocked;             // in use and not to be shared; current with the pool's stamp
};

// A device by its position in the search order.
struct DeviceRef {
  std::uint32_t device_run = 0;  // of NodeDevices::order
  std::size_t device = 0;        // of the slice

  friend auto operator<=>(const DeviceRef&, const DeviceRef&) = default;
};

struct NodeDevices {
  std::vector<NodePool> pools;      // by driver and name
  std::vector<std::string> unseen;  // faults of further pools, whose slices for this node do not count
  std::vector<DeviceRun> order;
  std::vector<std::unique_ptr<ValueTable>> values;
  std::vector<SlicePtr> slices;    // those with devices here, in the order of flat numbers
  std::uint32_t device_count = 0;  // of flat numbers
  // No device draws on counters, is shareable or has binding conditions: every scoring rates them equally.
  bool uniform = true;
  std::uint64_t stamp = 0;  // changes with every field above
  std::uint64_t labels_stamp = 0, slices_stamp = 0, shared_pools_stamp = 0;
  std::uint64_t used = 0;  // the latest use

  Slice& slice_of(const DeviceRun& run) const { return *pools[run.pool].slices[run.slice]; }
  Slice& slice_at(DeviceRef place) const { return slice_of(order[place.device_run]); }
  const api::Device& device_at(DeviceRef place) const { return slice_at(place).live->devices[place.device]; }
  model::DeviceId id_at(DeviceRef place) const { return slice_at(place).devices[place.device]; }
  bool is_shareable(DeviceRef place) const { return slice_at(place).shareable.test(place.device); }
  const CounterDraws& draws_at(DeviceRef place) const {
    const DeviceRun& run = order[place.device_run];
    const NodePool& pool = pools[run.pool];
    return pool.draws.empty() ? kNoDraws : pool.draws[run.slice][place.device];
  }
  std::uint32_t flat_at(DeviceRef place) const {
    return order[place.device_run].base + static_cast<std::uint32_t>(place.device);
  }
};

}  // namespace berth::dra
