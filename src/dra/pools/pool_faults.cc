#include "dra/pools/pool_faults.h"

#include <map>

namespace berth::dra {
namespace {

using CounterSets = std::map<std::string_view, const api::CounterSet*>;

bool has_groups(const api::ResourceSlice& slice) {
  for (const api::Device& device : slice.devices)
    for (const api::CounterConsumption& entry : device.consumes)
      if (!entry.groups.empty()) return true;
  return false;
}

// "set/counter" of the first counter that no slice declares; empty: none.
std::string undeclared_counter(const api::Device& device, const CounterSets& sets) {
  for (const api::CounterConsumption& entry : device.consumes) {
    const auto set = sets.find(entry.counter_set);
    if (set == sets.end()) return entry.counter_set;
    for (const auto& [counter, amount] : entry.counters)
      if (!set->second->counters.contains(counter)) return entry.counter_set + "/" + counter;
  }
  return {};
}

}  // namespace

std::string contradiction_of(const NodePool& pool) {
  CounterSets sets;
  for (const SlicePtr& slice : pool.slices)
    for (const api::CounterSet& set : slice->live->shared_counters)
      if (!sets.emplace(set.name, &set).second) return "declares counter set " + set.name + " twice";
  std::map<std::string_view, const api::ResourceSlice*> devices;
  for (std::size_t i = 0; i < pool.slices.size(); ++i) {
    const api::ResourceSlice& slice = *pool.slices[i]->live;
    if (slice.devices.size() > kSliceDevicesMax)
      return "has more than " + std::to_string(kSliceDevicesMax) + " devices in ResourceSlice " +
             slice.meta.name;
    for (const api::Device& device : slice.devices) {
      if (pool.here[i].any()) {
        const auto [at, added] = devices.emplace(device.name, &slice);
        if (!added)
          return "has device " + device.name + " twice (in ResourceSlices " + at->second->meta.name +
                 " and " + slice.meta.name + ")";
      }
      if (const std::string counter = undeclared_counter(device, sets); !counter.empty())
        return "has device " + device.name + ", which consumes counter " + counter +
               ", and no ResourceSlice of the pool declares it";
    }
  }
  return {};
}

std::string_view missing_gate(const api::ResourceSlice& slice, const DeviceGates& gates) {
  if (!gates.partitionable_devices && (slice.per_device_node_selection || !slice.shared_counters.empty()))
    return "DRAPartitionableDevices";
  return !gates.compatibility_groups && has_groups(slice) ? "DRADeviceCompatibilityGroups" : "";
}

std::string fault_text(const SliceCounts& counts) {
  if (counts.newest > counts.generation && counts.found > 0)
    return "has here ResourceSlices of generation " + std::to_string(counts.generation) +
           " only, and elsewhere of generation " + std::to_string(counts.newest);
  const std::string gate = std::string(counts.left_out == 1 ? " needs" : " need") + " feature gate " +
                           std::string(counts.gate) + ", which is off";
  if (counts.found == 0) return "has no usable ResourceSlices: " + std::to_string(counts.left_out) + gate;
  const std::string text = "has " + std::to_string(counts.found) + " of " + std::to_string(counts.wanted) +
                           (counts.wanted == 1 ? " ResourceSlice" : " ResourceSlices") + " of generation " +
                           std::to_string(counts.generation);
  return counts.left_out == 0 ? text : text + "; " + std::to_string(counts.left_out) + " more" + gate;
}

std::string pool_text(const model::PoolRow& pool) {
  return "pool " + pool.pool + " of driver " + pool.driver;
}

}  // namespace berth::dra
