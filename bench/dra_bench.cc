// rooms: dra
//
// One DRA decision on 500 nodes with 10 devices each: choice of the node included, and the ledger's part
// alone.
#include <benchmark/benchmark.h>

#include "dra/test_world.h"

namespace berth::dra {
namespace {

constexpr int kNodes = 500;
constexpr int kDevicesPerNode = 10;

api::ResourceSlice slice_of(const std::string& node) {
  api::ResourceSlice slice;
  slice.meta.name = "slice-" + node;
  slice.driver = "gpu.example.com";
  slice.pool = node;
  slice.generation = 1;
  slice.slice_count = 1;
  slice.node_name = node;
  for (int i = 0; i < kDevicesPerNode; ++i) {
    api::Device& device = slice.devices.emplace_back();
    device.name = "gpu-" + std::to_string(i);
    device.attributes["numa"] = std::int64_t{i / 5};
    device.attributes["uuid"] = node + "-" + std::to_string(i);
  }
  return slice;
}

class Bench {
 public:
  explicit Bench(int full_nodes, const char* match_attribute = "") {
    api::DeviceClass gpu;
    gpu.meta.name = "gpu";
    gpu.selectors = {"device.driver == \"gpu.example.com\""};
    world.put(api::Kind::DeviceClass, gpu);
    for (int i = 0; i < kNodes; ++i) {
      api::Node node;
      node.meta.name = "n" + std::to_string(1000 + i);
      world.put(api::Kind::Node, node);
      world.put(api::Kind::ResourceSlice, slice_of(node.meta.name));
      if (i < full_nodes) take_all(node.meta.name);
    }
    api::ResourceClaim claim;
    claim.meta.name = "want";
    claim.meta.ns = "default";
    claim.meta.uid = "want-uid";
    claim.requests.push_back({"r", false, {{.name = "r", .device_class = "gpu", .count = 2}}});
    if (*match_attribute) claim.constraints.push_back({{}, match_attribute, ""});
    world.put(api::Kind::ResourceClaim, claim);
    api::Pod pod;
    pod.meta.name = "p";
    pod.meta.ns = "default";
    pod.meta.uid = "p-uid";
    world.put(api::Kind::Pod, pod);
    claims = {world.view.claims.find_shared("default", "want")};
  }
  void take_all(const std::string& node) {
    api::ResourceClaim claim;
    claim.meta.name = "held-" + node;
    claim.meta.ns = "default";
    claim.meta.uid = claim.meta.name;
    claim.allocation.emplace();
    for (int d = 0; d < kDevicesPerNode; ++d)
      claim.allocation->results.push_back(
          {.request = "r", .driver = "gpu.example.com", .pool = node, .device = "gpu-" + std::to_string(d)});
    world.put(api::Kind::ResourceClaim, claim);
  }
  // The first node that works; the answer is charged and undone.
  bool decide() {
    const auto compiled = allocator.prepare(claims);
    model::Ledger::Transaction transaction(world.cluster.ledger());
    for (const auto& [name, node] : world.cluster.live_nodes()) {
      const AllocationVerdict verdict = allocator.allocate(**compiled, node, Explain::Nothing);
      const auto* found = std::get_if<Allocations>(&verdict);
      if (!found) continue;
      transaction.allocate(world.cluster.find_claim("default", "want"),
                           world.cluster.reservation_for(found->claims[0].allocation));
      return true;
    }
    return false;
  }
  TestWorld world;
  PlainSelectors selectors;
  SeededRandom random{1};
  Allocator allocator{world.cluster, selectors, random};
  std::vector<ClaimPtr> claims;
};

void decision(benchmark::State& state) {
  Bench bench(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(bench.decide());
}
// Full nodes in front of the first free one.
BENCHMARK(decision)->Arg(0)->Arg(250)->Arg(499)->Arg(500)->Unit(benchmark::kMicrosecond);

void decision_with_match(benchmark::State& state) {
  Bench bench(static_cast<int>(state.range(0)), "gpu.example.com/numa");
  for (auto _ : state) benchmark::DoNotOptimize(bench.decide());
}
BENCHMARK(decision_with_match)->Arg(0)->Arg(499)->Unit(benchmark::kMicrosecond);

void ledger_take_and_undo_ten_devices(benchmark::State& state) {
  Bench bench(0);
  auto allocation = std::make_shared<api::Allocation>();
  for (int d = 0; d < kDevicesPerNode; ++d)
    allocation->results.push_back(
        {.request = "r", .driver = "gpu.example.com", .pool = "n1000", .device = "gpu-" + std::to_string(d)});
  const model::ClaimReservationPtr reservation = bench.world.cluster.reservation_for(allocation);
  const model::ClaimId claim = bench.world.cluster.find_claim("default", "want");
  model::Ledger::Transaction transaction(bench.world.cluster.ledger());
  const auto savepoint = transaction.savepoint();
  for (auto _ : state) {
    transaction.allocate(claim, reservation);
    transaction.roll_back_to(savepoint);
  }
}
BENCHMARK(ledger_take_and_undo_ten_devices);

}  // namespace
}  // namespace berth::dra
