#include "dra/judge/pools.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace berth::dra::judge {
namespace {

using api::Device;
using api::ResourceSlice;

bool has_binding_conditions(const Device& device) {
  return !device.binding_conditions.empty() || !device.binding_failure_conditions.empty();
}

struct Gatherer {
  const JudgedWorld& world;
  Gathered out = {};

  bool matches_node(const std::string& name, bool all,
                    const std::optional<api::NodeSelector>& selector) const {
    if (all || name == world.node->meta.name) return true;
    return name.empty() && selector &&
           api::matches(*selector, world.node->meta.labels, world.node->meta.name);
  }
  bool here(const ResourceSlice& slice, const Device& device) const {
    return !slice.per_device_node_selection ||
           matches_node(device.node_name, device.all_nodes, device.node_selector);
  }
  bool relevant(const ResourceSlice& slice) const {
    if (!slice.per_device_node_selection)
      return matches_node(slice.node_name, slice.all_nodes, slice.node_selector);
    return std::any_of(slice.devices.begin(), slice.devices.end(),
                       [&](const Device& d) { return here(slice, d); });
  }
  bool dropped(const ResourceSlice& slice) const {
    if (!world.gates.partitionable_devices &&
        (slice.per_device_node_selection || !slice.shared_counters.empty()))
      return true;
    bool groups = false;
    for (const Device& device : slice.devices)
      for (const auto& entry : device.consumes) groups = groups || !entry.groups.empty();
    return groups && !world.gates.compatibility_groups;
  }

  Gathered run() {
    std::map<std::pair<std::string, std::string>, std::vector<const ResourceSlice*>> pools;
    for (const ResourceSlice* slice : world.slices)
      if (!dropped(*slice)) pools[{slice->driver, slice->pool}].push_back(slice);
    std::vector<std::pair<std::tuple<bool, bool, std::size_t>, Candidate>> ordered;
    for (auto& [key, slices] : pools) gather_pool(slices, ordered);
    std::stable_sort(ordered.begin(), ordered.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [rank, candidate] : ordered) out.candidates.push_back(std::move(candidate));
    return std::move(out);
  }

  template <class Ordered>
  void gather_pool(std::vector<const ResourceSlice*> all, Ordered& ordered) {
    std::sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->meta.name < b->meta.name; });
    std::vector<const ResourceSlice*> kept;
    for (const ResourceSlice* slice : all)
      if (relevant(*slice)) kept.push_back(slice);
    if (kept.empty()) return;
    std::int64_t generation = 0, highest = 0;
    for (const ResourceSlice* slice : kept) generation = std::max(generation, slice->generation);
    for (const ResourceSlice* slice : all) highest = std::max(highest, slice->generation);
    std::erase_if(kept, [&](auto* slice) { return slice->generation != generation; });
    std::erase_if(all, [&](auto* slice) { return slice->generation != generation; });
    auto first =
        std::find_if(kept.begin(), kept.end(), [](auto* slice) { return !slice->node_name.empty(); });
    if (first == kept.end()) first = kept.begin();
    const auto wanted = static_cast<std::size_t>((*first)->slice_count);
    if (kept.size() != wanted && highest > generation) return;
    if (kept.size() != wanted && all.size() < wanted) {
      out.unusable_pools = true;
      return;
    }
    if (kept.size() == wanted) all = kept;
    if (!valid(kept, all)) {
      out.unusable_pools = out.invalid_pools = true;
      return;
    }
    bool mixed = false;
    for (auto* slice : kept)
      for (const Device& device : slice->devices)
        mixed = mixed || (has_binding_conditions(device) && slice_has_any_here(*slice) &&
                          world.gates.binding_conditions);
    for (auto* slice : kept)
      for (const Device& device : slice->devices) {
        if (has_binding_conditions(device) && !world.gates.binding_conditions) continue;
        ordered.push_back(
            {{has_binding_conditions(device), mixed, 0}, {slice, &device, here(*slice, device), all, mixed}});
      }
  }
  bool slice_has_any_here(const ResourceSlice& slice) const {
    return std::any_of(slice.devices.begin(), slice.devices.end(),
                       [&](const Device& d) { return here(slice, d); });
  }
  static bool valid(const std::vector<const ResourceSlice*>& kept,
                    const std::vector<const ResourceSlice*>& all) {
    std::set<std::string> names;
    std::map<std::string, const api::CounterSet*> sets;
    for (auto* slice : kept)
      for (const Device& device : slice->devices)
        if (!names.insert(device.name).second) return false;
    for (auto* slice : all)
      for (const auto& set : slice->shared_counters)
        if (!sets.emplace(set.name, &set).second) return false;
    for (auto* slice : all)
      for (const Device& device : slice->devices)
        for (const auto& entry : device.consumes) {
          if (!sets.contains(entry.counter_set)) return false;
          for (const auto& [counter, amount] : entry.counters)
            if (!sets[entry.counter_set]->counters.contains(counter)) return false;
        }
    return true;
  }
};

}  // namespace

Gathered gather(const JudgedWorld& world) {
  return Gatherer{world}.run();
}

}  // namespace berth::dra::judge
