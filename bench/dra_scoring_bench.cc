// rooms: dra
//
// What it costs to take the least fragmenting allocation instead of the first: one decision on one node with
// eight GPUs of 15 partitions each, or with 128 plain devices. Argument: the scoring.
#include <benchmark/benchmark.h>

#include "dra/columns/mask.h"
#include "dra/test_world.h"

namespace berth::dra {
namespace {

constexpr int kGpus = 8;
constexpr int kSlices = 8;  // of one GPU's memory

api::ResourceSlice slice_of(const std::string& name) {
  api::ResourceSlice slice;
  slice.meta.name = name;
  slice.driver = "gpu.example.com";
  slice.pool = "n";
  slice.generation = slice.slice_count = 1;
  slice.node_name = "n";
  return slice;
}

// Partitions of 1, 2, 4 and 8 slices, each drawing the memory and the very slices that it lies on.
void add_gpu(api::ResourceSlice& devices, api::ResourceSlice& sets, int gpu) {
  api::CounterSet& set = sets.shared_counters.emplace_back();
  set.name = "gpu-" + std::to_string(gpu);
  set.counters["memory"] = Quantity::of(kSlices);
  for (int i = 0; i < kSlices; ++i) set.counters["slice-" + std::to_string(i)] = Quantity::of(1);
  for (int size = 1; size <= kSlices; size *= 2)
    for (int at = 0; at < kSlices; at += size) {
      api::Device& device = devices.devices.emplace_back();
      device.name = set.name + "-" + std::to_string(size) + "-" + std::to_string(at);
      device.attributes["size-" + std::to_string(size)] = true;
      api::CounterConsumption& draws = device.consumes.emplace_back();
      draws.counter_set = set.name;
      draws.counters["memory"] = Quantity::of(size);
      for (int i = at; i < at + size; ++i) draws.counters["slice-" + std::to_string(i)] = Quantity::of(1);
    }
}

struct OneNode {
  OneNode() {
    api::Node node;
    node.meta.name = "n";
    world.put(api::Kind::Node, node);
    api::DeviceClass any;
    any.meta.name = "any";
    world.put(api::Kind::DeviceClass, any);
  }
  void put_gpus() {
    api::ResourceSlice devices = slice_of("devices"), sets = slice_of("sets");
    for (int gpu = 0; gpu < kGpus; ++gpu) add_gpu(devices, sets, gpu);
    devices.slice_count = sets.slice_count = 2;
    world.put(api::Kind::ResourceSlice, devices);
    world.put(api::Kind::ResourceSlice, sets);
    for (int gpu = 1; gpu < kGpus; gpu += 2)  // every other one is in use
      hold("gpu-" + std::to_string(gpu) + "-1-" + std::to_string(gpu));
  }
  void put_plain() {
    api::ResourceSlice devices = slice_of("devices");
    for (std::size_t i = 0; i < kSliceDevicesMax; ++i)
      devices.devices.emplace_back().name = "gpu-" + std::to_string(i);
    world.put(api::Kind::ResourceSlice, devices);
  }
  void hold(const std::string& device) {
    api::ResourceClaim held;
    held.meta.name = held.meta.uid = "held-" + device;
    held.meta.ns = "default";
    held.allocation.emplace().results.push_back(
        {.request = "r", .driver = "gpu.example.com", .pool = "n", .device = device});
    world.put(api::Kind::ResourceClaim, held);
  }
  void run(benchmark::State& state, int count, const std::string& selector) {
    api::ResourceClaim claim;
    claim.meta.name = claim.meta.uid = "want";
    claim.meta.ns = "default";
    claim.requests.push_back({"r", false, {{.name = "r", .device_class = "any", .count = count}}});
    if (!selector.empty()) claim.requests[0].alternatives[0].selectors = {selector};
    world.put(api::Kind::ResourceClaim, claim);
    const ClaimPtr wanted = world.view.claims.find_shared("default", "want");
    PlainSelectors selectors;
    SeededRandom random(1);
    Allocator allocator(world.cluster, selectors, random);
    allocator.set_scoring(kDeviceScorings[static_cast<std::size_t>(state.range(0))].scoring);
    const model::NodeId node = world.cluster.find_node("n");
    const auto compiled = allocator.prepare(std::span(&wanted, 1));
    for (auto _ : state) {
      const AllocationVerdict verdict = allocator.allocate(**compiled, node, Explain::Nothing);
      if (!std::holds_alternative<Allocations>(verdict)) state.SkipWithError("no allocation");
    }
    state.SetLabel(std::string(name_of(kDeviceScorings[static_cast<std::size_t>(state.range(0))].scoring)));
    state.counters["steps"] = static_cast<double>(allocator.latest_steps());
  }
  TestWorld world;
};

void one_partition_of_64(benchmark::State& state) {
  OneNode node;
  node.put_gpus();
  node.run(state, 1, "has size-1");
}
BENCHMARK(one_partition_of_64)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

void four_partitions_of_64(benchmark::State& state) {
  OneNode node;
  node.put_gpus();
  node.run(state, 4, "has size-1");
}
BENCHMARK(four_partitions_of_64)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

void any_partition_of_120(benchmark::State& state) {
  OneNode node;
  node.put_gpus();
  node.run(state, 1, "");
}
BENCHMARK(any_partition_of_120)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

void four_of_128_plain_devices(benchmark::State& state) {
  OneNode node;
  node.put_plain();
  node.run(state, 4, "");
}
BENCHMARK(four_of_128_plain_devices)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace berth::dra
