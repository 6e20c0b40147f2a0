// The devices of every requested node. Built once per node and slice version, kept until an input changes.
//
// Owner: one Allocator. Cost of a known node: a comparison of stamps per pool; of a pool with changed
// reservations, a pass over its devices. Source: KEP-4381 pools and generations, KEP-4815 counters, KEP-5963
// groups.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dra/columns/selector_cache.h"
#include "dra/gates.h"
#include "dra/pools/node_devices.h"

namespace berth::dra {

// Derived attributes whose values a slice version caches; one more clears the cache.
inline constexpr std::size_t kDerivedMax = 16;
// Value tables of a node that are cached between searches.
inline constexpr std::size_t kValueTablesMax = 16;
// Slices that no node uses are dropped when this many slices, or twice the number left by the last sweep, are
// held.
inline constexpr std::size_t kSlicesBeforeSweep = 4096;
// Deleted nodes are dropped when this many nodes, or twice the number left by the last sweep, are held;
// beyond kNodesKeptMax the least recently used half is dropped.
inline constexpr std::size_t kNodesBeforeSweep = 1024;
inline constexpr std::size_t kNodesKeptMax = 65536;

struct SliceCounts;  // pool_faults.h

class Inventory {
 public:
  Inventory(const model::Cluster& cluster, SelectorEvaluator& evaluator, DeviceGates gates)
      : cluster_(cluster), evaluator_(evaluator), gates_(gates), selector_cache_(columns_, evaluator) {}

  // Current with slices and ledger. The reference is valid until the next call.
  NodeDevices& of(model::NodeId node);
  std::size_t kept_nodes() const { return kept_nodes_; }
  std::size_t kept_slices() const { return slices_.size(); }
  SelectorCache& selector_cache() { return selector_cache_; }
  const SelectorCache& selector_cache() const { return selector_cache_; }
  Selected selected(const Slice& slice, SelectorSetId set) { return selector_cache_.of(slice.rows, set); }
  // For a device of the slice that `selected` reports as an error.
  SelectorFault fault_of(const Slice& slice, SelectorSetId set, std::size_t device) {
    return selector_cache_.fault_of(set, slice.live->driver, slice.live->devices[device]);
  }
  // The values of a constraint's attribute; `derived` are variants 1 and up. Valid until trim_values().
  const ValueTable& values(NodeDevices& devices, const std::string& table_key, const std::string& attribute,
                           const std::vector<std::string>& derived);
  void trim_values(NodeDevices& devices) const;

 private:
  std::unique_ptr<NodeDevices> build(model::NodeId node);
  // Nothing when the node sees no slices of the pool that count; `unseen` says so where it has some.
  std::optional<NodePool> gather(model::PoolId id, const model::NodeRow& node,
                                 std::vector<std::string>& unseen);
  NodePool gathered(model::PoolId id, const model::NodeRow& node, SliceCounts counts);
  SlicePtr compiled(model::PoolId pool, const std::string& name, const model::SliceRow& row);
  void sweep_slices();
  void sweep_nodes();
  void compile_counters(NodePool& pool);
  void order(NodeDevices& devices) const;
  void refresh(NodeDevices& devices, std::uint32_t pool);
  void charge_baseline(NodePool& pool);
  bool awaits_counters(const NodePool& pool, std::uint32_t slice, std::size_t device) const;
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
