// The devices that a node can use, in search order, with what is left of their pools. Built once per node and
// slice version, kept until one of its inputs changes.
//
// Owner: one Allocator. Source: KEP-4381 pools and generations, KEP-4815 counters, KEP-5963 groups.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dra/columns/device_columns.h"
#include "dra/columns/mask.h"
#include "dra/columns/selector_cache.h"
#include "dra/gates.h"
#include "dra/pools/value_table.h"
#include "model/cluster.h"

namespace berth::dra {

// One version of one slice, with what was computed from it alone.
struct Slice {
  std::shared_ptr<const api::ResourceSlice> live;
  std::vector<model::DeviceId> devices;
  Mask shareable;
  Mask has_binding_conditions;
  SliceRows rows;
  // By expression: what it yields on each device.
  std::map<std::string, std::vector<Result<api::AttributeValue>>> derived;
};
using SlicePtr = std::shared_ptr<Slice>;

// What one device draws from one counter set of its pool, as indices into NodePool.
struct CounterDraw {
  std::uint32_t set = 0;
  std::vector<std::pair<std::uint32_t, Quantity>> counters;
  std::vector<std::uint32_t> groups;  // sorted; empty: ungrouped
};

// Rolling intersection of the groups of a counter set's members, in slice and device order.
struct GroupState {
  bool members = false;
  bool grouped = false;
  std::vector<std::uint32_t> groups;

  bool admits(const std::vector<std::uint32_t>& candidate) const;
  void admit(const std::vector<std::uint32_t>& candidate);
};

struct PoolSizes;  // fragmentation_score.h

enum class PoolState : std::uint8_t { Usable, Incomplete, Invalid };

struct NodePool {
  model::PoolId id;
  PoolState state = PoolState::Usable;
  std::string trouble;           // why it is invalid
  std::vector<SlicePtr> slices;  // of the generation in use, also those for other nodes, by name
  std::vector<Mask> here;  // per slice: its devices that this node may use; empty for other nodes' slices
  bool has_binding_conditions = false;

  // Counters; empty when no device draws any.
  std::vector<std::string> set_names;
  std::vector<std::string> counter_names;  // "set/counter"
  std::vector<Quantity> declared;
  model::Names<DenseId<struct GroupTag>> group_names;
  std::vector<std::vector<std::vector<CounterDraw>>> draws;  // by slice and device
  bool negative_draws = false;                               // a device gives to a counter
  std::shared_ptr<const PoolSizes> sizes;                    // null until allocations are compared

  // The state of the ledger at `stamp`.
  std::uint64_t stamp = ~std::uint64_t{0};
  std::vector<Quantity> available;
  std::vector<GroupState> groups;
  bool overdrawn =
      false;  // a counter is negative: nothing that draws counters fits (as the reference has it)
};

// A run of devices of one slice, all with or all without binding conditions.
struct DeviceRun {
  std::uint32_t pool = 0;   // of NodeDevices::pools
  std::uint32_t slice = 0;  // of NodePool::slices
  std::uint32_t base = 0;   // flat number of the slice's first device
  Mask mask;                // devices to look at
  Mask here;                // of these, the ones that this node may use
  Mask blocked;             // in use and not shareable; current with the pool's stamp
};

struct NodeDevices {
  std::vector<NodePool> pools;  // by driver and name
  std::vector<DeviceRun> order;
  std::vector<std::unique_ptr<ValueTable>> values;
  std::vector<SlicePtr> slices;    // those with devices here, in the order of flat numbers
  std::uint32_t device_count = 0;  // of flat numbers
  // No device draws on counters, can be shared or has conditions: to any scoring they are all the same.
  bool uniform = true;
  std::uint64_t stamp = 0;  // another number with every change of anything above
  std::uint64_t labels_stamp = 0, slices_stamp = 0, shared_pools_stamp = 0;
  std::uint64_t used = 0;  // the latest use
};

// Derived attributes whose values a slice version keeps; with one more all are worked out again.
inline constexpr std::size_t kDerivedMax = 16;
// Value tables of a node that are kept from search to search.
inline constexpr std::size_t kValueTablesMax = 16;
// Slices that no node uses any more are dropped when this many, or twice the last rest, are held.
inline constexpr std::size_t kSlicesBeforeSweep = 4096;
// Nodes that are gone are forgotten when this many, or twice the last rest, are kept; and of more than the
// latter bound the half that was asked for the longest ago.
inline constexpr std::size_t kNodesBeforeSweep = 1024;
inline constexpr std::size_t kNodesKeptMax = 65536;

class Inventory {
 public:
  Inventory(const model::Cluster& cluster, SelectorEvaluator& evaluator, DeviceGates gates)
      : cluster_(cluster), evaluator_(evaluator), gates_(gates), selector_cache_(columns_, evaluator) {}

  // Current with slices and ledger. The reference holds until the next call.
  NodeDevices& of(model::NodeId node);
  std::size_t kept_nodes() const { return kept_nodes_; }
  std::size_t kept_slices() const { return slices_.size(); }
  SelectorCache& selector_cache() { return selector_cache_; }
  const SelectorCache& selector_cache() const { return selector_cache_; }
  Selected selected(const Slice& slice, SelectorSetId set) { return selector_cache_.of(slice.rows, set); }
  // Of a device of the slice that `selected` calls an error.
  SelectorFault fault_of(const Slice& slice, SelectorSetId set, std::size_t device) {
    return selector_cache_.fault_of(set, slice.live->driver, slice.live->devices[device]);
  }
  // The values of a constraint's attribute; `derived` are variants 1 and on. Holds until trim_values().
  const ValueTable& values(NodeDevices& devices, const std::string& table_key, const std::string& attribute,
                           const std::vector<std::string>& derived);
  void trim_values(NodeDevices& devices) const;

 private:
  std::unique_ptr<NodeDevices> build(model::NodeId node);
  std::optional<NodePool> gather(model::PoolId id, const model::NodeRow& node);
  bool dropped(const api::ResourceSlice& slice) const;
  SlicePtr compiled(model::PoolId pool, const std::string& name, const model::SliceRow& row);
  void sweep_slices();
  void sweep_nodes();
  void compile_counters(NodePool& pool);
  void find_trouble(NodePool& pool) const;
  void order(NodeDevices& devices) const;
  void refresh(NodeDevices& devices, std::uint32_t pool);
  void charge_baseline(NodePool& pool);
  const std::vector<Result<api::AttributeValue>>& derived(Slice& slice, const std::string& expression);
  std::vector<std::uint32_t> groups_of(NodePool& pool, const CounterDraw& draw, model::DeviceId device) const;

  const model::Cluster& cluster_;
  SelectorEvaluator& evaluator_;
  DeviceGates gates_;
  DeviceColumns columns_;
  SelectorCache selector_cache_;
  std::vector<std::unique_ptr<NodeDevices>> nodes_;  // by id; null: not kept
  std::size_t kept_nodes_ = 0;
  std::size_t sweep_nodes_at_ = kNodesBeforeSweep;
  std::uint64_t uses_ = 0;
  std::map<std::pair<model::PoolId, std::string>, SlicePtr> slices_;
  std::uint64_t last_stamp_ = 0;
  std::size_t sweep_at_ = kSlicesBeforeSweep;
};

}  // namespace berth::dra
