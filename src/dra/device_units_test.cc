// The units of a node against a twin that knows devices, counters and capacities as plain numbers.
#include "dra/device_units.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "dra/search/search.h"
#include "dra/test_world.h"

namespace berth::dra {
namespace {

constexpr int kSlices = 4;  // counters of a set, each of one
constexpr int kMemory = 12;

int units_below(int bound) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, bound));
}

// A whole device has no set; a partition draws the slices [at, at + size) of its set.
struct SlowDevice {
  std::string name;
  int set = -1, at = 0, size = kSlices;
  bool shareable = false;
  int memory = 0;  // its capacity; 0: none
  bool held = false;
  int shares = 0, used = 0;
};

struct SlowKind {
  std::string attribute;  // empty: any device
  int memory = 0;         // 0: without an amount
  int count = 1;
};

struct SlowNode {
  std::vector<SlowDevice> devices;
  int sets = 0;

  static std::string attribute_of(const SlowDevice& device) {
    return device.memory > 0 ? "memory" : device.set < 0 ? "whole" : "size-" + std::to_string(device.size);
  }
  bool slice_used(int set, int slice) const {
    return std::ranges::any_of(devices, [&](const SlowDevice& one) {
      return one.set == set && (one.held || one.shares > 0) && one.at <= slice && slice < one.at + one.size;
    });
  }
  bool fits(const SlowDevice& device, const SlowKind& kind) const {
    if (!kind.attribute.empty() && kind.attribute != attribute_of(device)) return false;
    if (device.held || (kind.memory > 0 && device.memory == 0)) return false;
    if (device.memory > 0 && !device.shareable && kind.memory > device.memory) return false;
    if (device.shareable && device.used + amount_of(device, kind) > device.memory) return false;
    if (device.shares > 0) return true;
    for (int slice = device.at; device.set >= 0 && slice < device.at + device.size; ++slice)
      if (slice_used(device.set, slice)) return false;
    return true;
  }
  static int amount_of(const SlowDevice& device, const SlowKind& kind) {
    return kind.memory > 0 ? kind.memory : device.memory;
  }
  void take(const std::string& name, const SlowKind& kind) {
    SlowDevice& device = *std::ranges::find(devices, name, &SlowDevice::name);
    if (!device.shareable) {
      device.held = true;
      return;
    }
    ++device.shares;
    device.used += amount_of(device, kind);
  }
  // Free millionths and kinds that are served, of each unit with something free; sorted.
  std::vector<std::pair<std::int64_t, std::uint32_t>> units(const std::vector<SlowKind>& kinds) const {
    std::vector<std::pair<std::int64_t, std::uint32_t>> made;
    const auto serves = [&](const auto& belongs) {
      std::uint32_t bits = 0;
      for (std::size_t k = 0; k < kinds.size(); ++k)
        for (const SlowDevice& device : devices)
          if (belongs(device) && fits(device, kinds[k])) bits |= 1u << k;
      return bits;
    };
    for (int set = 0; set < sets; ++set) {
      std::int64_t free = 0;
      for (int slice = 0; slice < kSlices; ++slice) free += slice_used(set, slice) ? 0 : 1'000'000;
      const bool asked = std::ranges::any_of(devices, [&](const SlowDevice& one) {
        return one.set == set && std::ranges::any_of(kinds, [&](const SlowKind& kind) {
                 return kind.attribute.empty() || kind.attribute == attribute_of(one);
               });
      });
      if (free > 0 && asked)
        made.emplace_back(free / kSlices, serves([&](const SlowDevice& device) {
                            return device.set == set && device.shares == 0;
                          }));
    }
    for (const SlowDevice& device : devices) {
      if (device.held || (device.set >= 0 && device.shares == 0)) continue;
      const bool asked = std::ranges::any_of(kinds, [&](const SlowKind& kind) {
        return kind.attribute.empty() || kind.attribute == attribute_of(device);
      });
      const std::int64_t size = device.set < 0 ? 1'000'000 : 1'000'000 / kSlices * device.size;
      const std::int64_t left = device.shareable
                                    ? std::int64_t{1'000'000} * (device.memory - device.used) / device.memory
                                    : 1'000'000;
      if (asked && size * left / 1'000'000 > 0)
        made.emplace_back(size * left / 1'000'000,
                          serves([&](const SlowDevice& other) { return other.name == device.name; }));
    }
    std::ranges::sort(made);
    return made;
  }
};

SlowNode random_node() {
  SlowNode node;
  node.sets = 1 + units_below(3);
  for (int set = 0; set < node.sets; ++set)
    for (const int size : {1, 2, 4})
      for (int at = 0; at < kSlices; at += size) {
        if (units_below(4) == 0) continue;
        SlowDevice device{.set = set, .at = at, .size = size};
        if (units_below(5) == 0) device.memory = kMemory;
        device.shareable = device.memory > 0 && units_below(2) == 0;
        node.devices.push_back(device);
      }
  for (int i = units_below(3); i > 0; --i) node.devices.push_back({});
  for (int i = units_below(3); i > 0; --i) node.devices.push_back({.shareable = true, .memory = kMemory});
  for (std::size_t i = 0; i < node.devices.size(); ++i) node.devices[i].name = "d" + std::to_string(i);
  return node;
}

std::vector<SlowKind> random_kinds() {
  static const char* const attributes[] = {"", "whole", "memory", "size-1", "size-2", "size-4"};
  std::vector<SlowKind> kinds;
  for (int i = 1 + units_below(5); i > 0; --i) {
    SlowKind& kind = kinds.emplace_back(SlowKind{attributes[units_below(6)], 0, 1 + units_below(2)});
    if (units_below(3) == 0) kind.memory = 1 + units_below(kMemory + 2);
  }
  return kinds;
}

struct UnitsWorld : TestWorld {
  explicit UnitsWorld(const SlowNode& node) {
    api::Node live;
    live.meta.name = "n";
    put(api::Kind::Node, live);
    api::DeviceClass any;
    any.meta.name = "any";
    put(api::Kind::DeviceClass, any);
    api::ResourceSlice slice;
    slice.meta.name = "a-counters";
    slice.driver = "d";
    slice.pool = "pool";
    slice.node_name = "n";
    slice.generation = 1;
    slice.slice_count = 2;
    api::ResourceSlice devices = slice;
    devices.meta.name = "devices";
    for (int set = 0; set < node.sets; ++set) {
      api::CounterSet& made = slice.shared_counters.emplace_back();
      made.name = std::to_string(set);
      for (int i = 0; i < kSlices; ++i) made.counters[std::to_string(i)] = Quantity::of(1);
    }
    for (const SlowDevice& one : node.devices) {
      api::Device& device = devices.devices.emplace_back();
      device.name = one.name;
      device.allow_multiple = one.shareable;
      device.attributes[SlowNode::attribute_of(one)] = true;
      if (one.memory > 0) device.capacity["mem"].value = Quantity::of(one.memory);
      if (one.set < 0) continue;
      api::CounterConsumption& draws = device.consumes.emplace_back();
      draws.counter_set = std::to_string(one.set);
      for (int i = one.at; i < one.at + one.size; ++i) draws.counters[std::to_string(i)] = Quantity::of(1);
    }
    put(api::Kind::ResourceSlice, slice);
    put(api::Kind::ResourceSlice, devices);
  }
  static ClaimPtr claim_for(const SlowKind& kind, const std::string& name) {
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->meta.name = claim->meta.uid = name;
    claim->meta.ns = "default";
    api::DeviceSubRequest one{.name = "r", .device_class = "any", .count = kind.count};
    if (!kind.attribute.empty()) one.selectors = {"has " + kind.attribute};
    if (kind.memory > 0) one.capacity["mem"] = Quantity::of(kind.memory);
    claim->requests.push_back({"r", false, {one}});
    return claim;
  }
};

std::vector<std::pair<std::int64_t, std::uint32_t>> sorted_units(const DeviceUnits& units) {
  std::vector<std::pair<std::int64_t, std::uint32_t>> made;
  for (const DeviceUnit& unit : units.units)
    if (unit.free > 0) made.emplace_back(unit.free, unit.serves);
  std::ranges::sort(made);
  return made;
}

// Units before the choice and after it, then the choice is made and the next one begins with these.
TEST(DeviceUnits, AreThoseOfTheTwinThatKnowsPlainNumbers) {
  EXPECT_TRUE(rc::check("random nodes, kinds and choices", [] {
    SlowNode node = random_node();
    UnitsWorld world(node);
    const std::vector<SlowKind> kinds = random_kinds();
    PlainSelectors selectors;
    SeededRandom random(1);
    Allocator allocator(world.cluster, selectors, random);
    const model::NodeId id = world.cluster.find_node("n");
    std::vector<ClaimPtr> claims;
    for (const SlowKind& kind : kinds)
      claims.push_back(UnitsWorld::claim_for(kind, "k" + std::to_string(claims.size())));
    const auto compiled = allocator.prepare(claims);
    for (int step = 0; step < 8; ++step) {
      const std::size_t chosen = static_cast<std::size_t>(units_below(static_cast<int>(kinds.size())));
      const ClaimPtr claim = UnitsWorld::claim_for(kinds[chosen], "c" + std::to_string(step));
      const auto wanted = allocator.prepare({&claim, 1});
      const auto units = allocator.units_around(**compiled, **wanted, id);
      const AllocationVerdict verdict = allocator.allocate(**wanted, id, Explain::Nothing);
      if (!units) {
        RC_ASSERT(allocator.latest_steps() > kPlainStepsPerDevice);
        return;
      }
      RC_ASSERT(sorted_units(units->before) == node.units(kinds));
      const auto* found = std::get_if<Allocations>(&verdict);
      RC_ASSERT(units->fits == (found != nullptr));
      for (std::size_t k = 0; k < kinds.size(); ++k) {
        const bool one_fits = std::ranges::any_of(
            node.devices, [&](const SlowDevice& device) { return node.fits(device, kinds[k]); });
        RC_ASSERT((units->before.fitting[k] > 0) == one_fits);
        RC_ASSERT(units->before.fitting[k] <= kinds[k].count);
      }
      if (found) {
        RC_ASSERT(units->before.fitting[chosen] == kinds[chosen].count);
        for (const api::DeviceResult& result : found->claims.front().allocation->results)
          node.take(result.device, kinds[chosen]);
        RC_ASSERT(sorted_units(units->after) == node.units(kinds));
        api::ResourceClaim held = *claim;
        held.allocation = *found->claims.front().allocation;
        world.put(api::Kind::ResourceClaim, held);
      }
    }
  }));
}

}  // namespace
}  // namespace berth::dra
