#include "dra/pools/inventory.h"

#include <algorithm>
#include <utility>

#include "base/known_defects.h"
#include "dra/pools/pool_faults.h"

namespace berth::dra {
namespace {

using api::ResourceSlice;
using model::NodeRow;

bool device_matches(const api::Device& device, const NodeRow& node) {
  if (device.all_nodes) return true;
  if (!device.node_name.empty()) return device.node_name == node.name;
  return device.node_selector && node.live &&
         api::matches(*device.node_selector, node.live->meta.labels, node.name);
}

Mask devices_here(const ResourceSlice& slice, const NodeRow& node) {
  const std::size_t count = std::min(slice.devices.size(), kSliceDevicesMax);
  if (!slice.per_device_node_selection) return Mask::first(count);
  Mask mask;
  for (std::size_t i = 0; i < count; ++i)
    if (device_matches(slice.devices[i], node)) mask.set(i);
  return mask;
}

bool relevant(const ResourceSlice& slice, const NodeRow& node) {
  if (!slice.node_name.empty()) return slice.node_name == node.name;
  if (slice.all_nodes) return true;
  if (slice.node_selector)
    return node.live && api::matches(*slice.node_selector, node.live->meta.labels, node.name);
  return slice.per_device_node_selection && devices_here(slice, node).any();
}

}  // namespace

NodeDevices& Inventory::of(model::NodeId node) {
  if (nodes_.size() <= node.index()) nodes_.resize(node.index() + 1);
  std::unique_ptr<NodeDevices>& slot = nodes_[node.index()];
  const NodeRow& row = cluster_.node(node);
  if (!slot || slot->labels_stamp != row.labels_stamp || slot->slices_stamp != row.slices_stamp ||
      slot->shared_pools_stamp != cluster_.shared_pools_stamp()) {
    if (kept_nodes_ > sweep_nodes_at_) sweep_nodes();
    kept_nodes_ += slot ? 0 : 1;
    slot = build(node);
  }
  slot->used = ++uses_;
  for (std::uint32_t i = 0; i < slot->pools.size(); ++i) {
    if (slot->pools[i].stamp == cluster_.ledger().pool_stamp(slot->pools[i].id)) continue;
    refresh(*slot, i);
    slot->stamp = ++last_stamp_;
  }
  return *slot;
}

std::unique_ptr<NodeDevices> Inventory::build(model::NodeId id) {
  if (slices_.size() > sweep_at_) sweep_slices();
  const NodeRow& node = cluster_.node(id);
  auto devices = std::make_unique<NodeDevices>();
  devices->stamp = ++last_stamp_;
  devices->labels_stamp = node.labels_stamp;
  devices->slices_stamp = node.slices_stamp;
  devices->shared_pools_stamp = cluster_.shared_pools_stamp();
  std::map<std::pair<std::string, std::string>, model::PoolId> pools = cluster_.shared_pools();
  for (const model::PoolId pool : cluster_.pools_of(id))
    pools.emplace(std::pair(cluster_.pool(pool).driver, cluster_.pool(pool).pool), pool);
  for (const auto& [key, pool] : pools)
    if (std::optional<NodePool> gathered = gather(pool, node, devices->unseen))
      devices->pools.push_back(std::move(*gathered));
  order(*devices);
  return devices;
}

// Slices of a disabled feature do not exist: their pool becomes incomplete.
std::optional<NodePool> Inventory::gather(model::PoolId id, const NodeRow& node,
                                          std::vector<std::string>& unseen) {
  const model::PoolRow& row = cluster_.pool(id);
  SliceCounts counts;
  std::int64_t generation = -1, highest = -1;
  const ResourceSlice* first = nullptr;  // its slice count decides; slices with a nodeName come first
  std::size_t kept = 0;
  for (const auto& [name, slice] : row.slices) {
    if (const std::string_view gate = missing_gate(*slice.live, gates_); !gate.empty()) {
      counts.left_out += relevant(*slice.live, node) ? 1 : 0;
      counts.gate = gate;
      continue;
    }
    highest = std::max(highest, slice.live->generation);
    if (slice.live->generation < generation || !relevant(*slice.live, node)) continue;
    if (slice.live->generation > generation) {
      generation = slice.live->generation;
      first = nullptr;
      kept = 0;
    }
    ++kept;
    if (!first || (first->node_name.empty() && !slice.live->node_name.empty())) first = slice.live.get();
  }
  counts.generation = generation;
  counts.newest = highest;
  counts.found = kept;
  if (!first) {
    if (counts.left_out > 0) unseen.push_back(pool_text(row) + " " + fault_text(counts));
    return std::nullopt;
  }
  counts.wanted = static_cast<std::size_t>(std::max<std::int64_t>(first->slice_count, 0));
  if (kept != counts.wanted && highest > generation) {
    unseen.push_back(pool_text(row) + " " + fault_text(counts));
    return std::nullopt;
  }
  return gathered(id, node, counts);
}

// Of one generation; of one that is whole on the node only the slices for the node.
NodePool Inventory::gathered(model::PoolId id, const NodeRow& node, SliceCounts counts) {
  const model::PoolRow& row = cluster_.pool(id);
  const bool whole = counts.found == counts.wanted;
  NodePool pool;
  pool.id = id;
  for (const auto& [name, slice] : row.slices) {
    if (slice.live->generation != counts.generation || !missing_gate(*slice.live, gates_).empty()) continue;
    const bool targets = relevant(*slice.live, node);
    if (whole && !targets) continue;
    pool.slices.push_back(compiled(id, name, slice));
    pool.here.push_back(targets ? devices_here(*slice.live, node) : Mask());
  }
  if (!whole && pool.slices.size() < counts.wanted) {
    pool.state = PoolState::Incomplete;
    counts.found = pool.slices.size();
    pool.fault = pool_text(row) + " " + fault_text(counts);
  } else if (const std::string contradiction = contradiction_of(pool); !contradiction.empty()) {
    pool.state = PoolState::Invalid;
    pool.fault = pool_text(row) + " " + contradiction;
  } else {
    compile_counters(pool);
  }
  return pool;
}

void Inventory::sweep_nodes() {
  const auto drop = [&](auto&& gone) {
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i] || !gone(i)) continue;
      nodes_[i].reset();
      --kept_nodes_;
    }
  };
  drop([&](std::uint32_t i) { return cluster_.node(model::NodeId(i)).live == nullptr; });
  if (kept_nodes_ > kNodesKeptMax) {
    std::vector<std::uint64_t> uses;
    for (const auto& devices : nodes_)
      if (devices) uses.push_back(devices->used);
    const auto middle = uses.begin() + static_cast<std::ptrdiff_t>(uses.size() / 2);
    std::nth_element(uses.begin(), middle, uses.end());
    drop([&](std::uint32_t i) { return nodes_[i]->used < *middle; });
  }
  sweep_nodes_at_ = std::min(std::max(kNodesBeforeSweep, 2 * kept_nodes_), kNodesKeptMax);
}

void Inventory::sweep_slices() {
  std::erase_if(slices_, [](const auto& entry) { return entry.second.use_count() == 1; });
  sweep_at_ = std::max(kSlicesBeforeSweep, 2 * slices_.size());
}

SlicePtr Inventory::compiled(model::PoolId pool, const std::string& name, const model::SliceRow& row) {
  SlicePtr& slot = slices_[{pool, name}];
  if (slot && slot->live == row.live) return slot;
  const SlicePtr before = std::exchange(slot, std::make_shared<Slice>());
  slot->live = row.live;
  slot->rows = columns_.admit(row.live, before ? &before->rows : nullptr);
  slot->devices = row.devices;
  for (std::size_t i = 0; i < std::min(row.live->devices.size(), kSliceDevicesMax); ++i) {
    const api::Device& device = row.live->devices[i];
    if (device.allow_multiple && gates_.consumable_capacity) slot->shareable.set(i);
    if (!device.binding_conditions.empty() || !device.binding_failure_conditions.empty())
      slot->has_binding_conditions.set(i);
  }
  return slot;
}

void Inventory::compile_counters(NodePool& pool) {
  std::map<std::string, std::uint32_t> set_index;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> slots;
  for (const SlicePtr& slice : pool.slices)
    for (const api::CounterSet& set : slice->live->shared_counters) {
      const auto index = static_cast<std::uint32_t>(pool.set_names.size());
      set_index.emplace(set.name, index);
      pool.set_names.push_back(set.name);
      for (const auto& [counter, amount] : set.counters) {
        slots.emplace(std::pair(index, counter), static_cast<std::uint32_t>(pool.declared.size()));
        pool.counter_names.push_back(set.name + "/" + counter);
        pool.declared.push_back(amount);
      }
    }
  if (pool.set_names.empty()) return;
  for (const SlicePtr& slice : pool.slices) {
    auto& of_slice = pool.draws.emplace_back(slice->live->devices.size());
    for (std::size_t i = 0; i < of_slice.size(); ++i)
      for (const api::CounterConsumption& entry : slice->live->devices[i].consumes) {
        CounterDraw draw;
        draw.set = set_index.at(entry.counter_set);
        for (const auto& [counter, amount] : entry.counters) {
          draw.counters.emplace_back(slots.at({draw.set, counter}), amount);
          pool.negative_draws = pool.negative_draws || amount.is_negative();
        }
        for (const std::string& group : entry.groups)
          draw.groups.push_back(pool.group_names.intern(group).index());
        std::sort(draw.groups.begin(), draw.groups.end());
        of_slice[i].push_back(std::move(draw));
      }
  }
}

void Inventory::order(NodeDevices& devices) const {
  for (NodePool& pool : devices.pools) {
    if (pool.state != PoolState::Usable || !gates_.binding_conditions) continue;
    for (std::size_t i = 0; i < pool.slices.size(); ++i)
      if (pool.here[i].any() && pool.slices[i]->has_binding_conditions.any())
        pool.has_binding_conditions = true;
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> bases;
  const auto base_of = [&](std::uint32_t pool, std::uint32_t slice) {
    const auto [at, added] = bases.try_emplace({pool, slice}, devices.device_count);
    if (!added) return at->second;
    devices.slices.push_back(devices.pools[pool].slices[slice]);
    devices.device_count += static_cast<std::uint32_t>(devices.slices.back()->live->devices.size());
    return at->second;
  };
  // Devices without binding conditions of pools without any, then of mixed pools, then those with binding
  // conditions.
  for (int pass = 0; pass < 3; ++pass) {
    if (pass == 2 && !gates_.binding_conditions) break;  // without the gate they are not candidates
    for (std::uint32_t p = 0; p < devices.pools.size(); ++p) {
      const NodePool& pool = devices.pools[p];
      if (pool.state != PoolState::Usable || pool.has_binding_conditions != (pass > 0)) continue;
      for (std::uint32_t s = 0; s < pool.slices.size(); ++s) {
        if (!pool.here[s].any()) continue;
        const Slice& slice = *pool.slices[s];
        devices.uniform =
            devices.uniform && pool.draws.empty() && !slice.shareable.any() && !pool.has_binding_conditions;
        const Mask all = Mask::first(slice.live->devices.size());
        const Mask mask = pass == 2 ? slice.has_binding_conditions : all & ~slice.has_binding_conditions;
        if (mask.any()) devices.order.push_back({p, s, base_of(p, s), mask, mask & pool.here[s], {}});
      }
    }
  }
}

void Inventory::refresh(NodeDevices& devices, std::uint32_t index) {
  NodePool& pool = devices.pools[index];
  const model::Ledger& ledger = cluster_.ledger();
  pool.stamp = ledger.pool_stamp(pool.id);
  if (!pool.set_names.empty()) charge_baseline(pool);
  for (DeviceRun& device_run : devices.order) {
    if (device_run.pool != index) continue;
    const Slice& slice = *pool.slices[device_run.slice];
    device_run.blocked = Mask();
    for (std::size_t i = device_run.mask.next(0); i < kSliceDevicesMax; i = device_run.mask.next(i + 1)) {
      if (!ledger.busy(slice.devices[i])) continue;
      const model::DeviceUse& use = ledger.device(slice.devices[i]);
      if (!slice.shareable.test(i) || use.dedicated + use.excluded > 0 ||
          awaits_counters(pool, device_run.slice, i))
        device_run.blocked.set(i);
    }
  }
}

// Only a hold has a share of the device, and other devices use what it needs of the counters.
bool Inventory::awaits_counters(const NodePool& pool, std::uint32_t slice, std::size_t device) const {
  if (pool.draws.empty()) return false;
  const model::DeviceUse& use = cluster_.ledger().device(pool.slices[slice]->devices[device]);
  if (use.shares == 0 || !use.holders.empty()) return false;
  const CounterDraws& draws = pool.draws[slice][device];
  return std::any_of(draws.begin(), draws.end(), [&](const CounterDraw& draw) {
    return !pool.groups[draw.set].admits(draw.groups) ||
           std::any_of(draw.counters.begin(), draw.counters.end(),
                       [&](const auto& counter) { return pool.available[counter.first].is_negative(); });
  });
}

// The groups of the allocated device: its claim's snapshot, else those of the current slice.
std::vector<std::uint32_t> Inventory::groups_of(NodePool& pool, const CounterDraw& draw,
                                                model::DeviceId device) const {
  const model::DeviceRow& row = cluster_.device(device);
  const model::PoolRow& owner = cluster_.pool(row.pool);
  for (const model::ClaimId claim : cluster_.ledger().device(device).holders) {
    const model::ClaimReservationPtr& reservation = cluster_.ledger().reservation(claim);
    for (const api::DeviceResult& result : reservation->allocation->results) {
      if (result.device != row.name || result.pool != owner.pool || result.driver != owner.driver) continue;
      const auto snapshot = result.groups.find(pool.set_names[draw.set]);
      if (snapshot == result.groups.end()) continue;
      std::vector<std::uint32_t> groups;
      for (const std::string& group : snapshot->second)
        groups.push_back(pool.group_names.intern(group).index());
      std::sort(groups.begin(), groups.end());
      return groups;
    }
  }
  return draw.groups;
}

void Inventory::charge_baseline(NodePool& pool) {
  pool.available = pool.declared;
  pool.groups.assign(pool.set_names.size(), {});
  for (std::size_t s = 0; s < pool.slices.size(); ++s)
    for (std::size_t i = 0; i < pool.draws[s].size(); ++i) {
      const model::DeviceId device = pool.slices[s]->devices[i];
      if (pool.draws[s][i].empty() || !cluster_.ledger().busy(device)) continue;
      if (cluster_.ledger().device(device).free()) continue;  // only excluded
      if (has(KnownDefect::CountersForgetShares) && cluster_.ledger().device(device).shares > 0) continue;
      for (const CounterDraw& draw : pool.draws[s][i]) {
        for (const auto& [slot, amount] : draw.counters) pool.available[slot] -= amount;
        // With the gate off no slice has groups here; the snapshots of claims still hold.
        pool.groups[draw.set].admit(groups_of(pool, draw, device));
      }
    }
  pool.overdrawn = std::any_of(pool.available.begin(), pool.available.end(),
                               [](const Quantity& left) { return left.is_negative(); });
}

void Inventory::trim_values(NodeDevices& devices) const {
  if (devices.values.size() > kValueTablesMax) devices.values.clear();
}

const ValueTable& Inventory::values(NodeDevices& devices, const std::string& table_key,
                                    const std::string& attribute,
                                    const std::vector<std::string>& derived_by) {
  for (const auto& known : devices.values)
    if (known->key() == table_key) return *known;
  auto table = std::make_unique<ValueTable>(table_key, devices.device_count);
  ValueTable::Builder builder(*table,
                              gates_.list_attributes ? ListAttributes::AsSets : ListAttributes::Refused);
  for (const SlicePtr& slice : devices.slices)
    for (const api::Device& device : slice->live->devices)
      builder.add(attribute_of(device, slice->live->driver, attribute));
  for (const std::string& expression : derived_by)
    for (const SlicePtr& slice : devices.slices)
      for (const Result<api::AttributeValue>& value : derived(*slice, expression)) {
        if (value)
          builder.add(&*value);
        else
          builder.add_error(value.error().message());
      }
  devices.values.push_back(std::move(table));
  return *devices.values.back();
}

const std::vector<Result<api::AttributeValue>>& Inventory::derived(Slice& slice,
                                                                   const std::string& expression) {
  const auto found = slice.derived.find(expression);
  if (found != slice.derived.end()) return found->second;
  if (slice.derived.size() >= kDerivedMax) slice.derived.clear();
  std::vector<Result<api::AttributeValue>>& values = slice.derived[expression];
  for (const api::Device& device : slice.live->devices)
    values.push_back(evaluator_.derive(expression, slice.live->driver, device));
  return values;
}

}  // namespace berth::dra
