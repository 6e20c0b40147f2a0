// rooms: dra
//
// ClaimCompiler of one node that make a search work: a correct "no" with its certificate for families that
// have no solution, and the first solution where greedy choice goes wrong.
#include <benchmark/benchmark.h>

#include "dra/test_world.h"

namespace berth::dra {
namespace {

constexpr int kClaimRequestsMax = 32;

class OneNode {
 public:
  explicit OneNode(DeviceGates gates = {}) : allocator(world.cluster, selectors, random, gates) {
    api::Node node;
    node.meta.name = "n";
    world.put(api::Kind::Node, node);
    api::DeviceClass gpu;
    gpu.meta.name = "gpu";
    gpu.selectors = {"device.driver == \"gpu.example.com\""};
    world.put(api::Kind::DeviceClass, gpu);
    slice.meta.name = "slice";
    slice.driver = "gpu.example.com";
    slice.pool = "n";
    slice.generation = slice.slice_count = 1;
    slice.node_name = "n";
  }
  api::Device& device() {
    api::Device& added = slice.devices.emplace_back();
    added.name = "gpu-" + std::to_string(slice.devices.size() - 1);
    added.attributes["uuid"] = added.name;
    return added;
  }
  void publish() { world.put(api::Kind::ResourceSlice, slice); }
  // A set of counters in a slice of its own.
  void counters(const std::map<std::string, Quantity>& amounts) {
    api::ResourceSlice sets = slice;
    sets.meta.name = "counters";
    sets.devices.clear();
    sets.shared_counters.push_back({"set", amounts});
    sets.slice_count = slice.slice_count = 2;
    world.put(api::Kind::ResourceSlice, sets);
  }
  api::ResourceClaim& claim() {
    api::ResourceClaim& added = wanted.emplace_back();
    added.meta.name = "c" + std::to_string(wanted.size());
    added.meta.ns = "default";
    added.meta.uid = added.meta.name;
    return added;
  }
  static api::DeviceSubRequest& request(api::ResourceClaim& claim, int count) {
    const std::string name = "r" + std::to_string(claim.requests.size());
    claim.requests.push_back({name, false, {{.name = name, .device_class = "gpu", .count = count}}});
    return claim.requests.back().alternatives[0];
  }
  // `devices` over as many claims as it takes, each claim one request, or one request a device.
  void ask_for(int devices, bool one_request_each) {
    for (; devices > 0; devices -= kClaimRequestsMax) {
      api::ResourceClaim& added = claim();
      const int here = std::min(devices, kClaimRequestsMax);
      for (int i = 0; i < (one_request_each ? here : 1); ++i) request(added, one_request_each ? 1 : here);
    }
  }
  void put_claims() {
    for (const api::ResourceClaim& claim : wanted) {
      world.put(api::Kind::ResourceClaim, claim);
      claims.push_back(world.view.claims.find_shared("default", claim.meta.name));
    }
  }
  AllocationVerdict decide(Explain explain) {
    const auto compiled = allocator.prepare(claims);
    return allocator.allocate(**compiled, world.cluster.find_node("n"), explain);
  }

  TestWorld world;
  PlainSelectors selectors;
  SeededRandom random{1};
  Allocator allocator;
  api::ResourceSlice slice;
  std::vector<api::ResourceClaim> wanted;
  std::vector<ClaimPtr> claims;
};

void run_no(benchmark::State& state, OneNode& node) {
  node.publish();
  node.put_claims();
  for (auto _ : state) {
    const AllocationVerdict verdict = node.decide(Explain::Words);
    const auto* no = std::get_if<Impossible>(&verdict);
    if (!no || !no->certificate) {
      state.SkipWithError(no ? "no certificate" : "not a no");
      break;
    }
  }
  state.counters["steps"] = static_cast<double>(node.allocator.latest_steps());
}
void run_yes(benchmark::State& state, OneNode& node) {
  node.publish();
  node.put_claims();
  for (auto _ : state)
    if (!std::holds_alternative<Allocations>(node.decide(Explain::Nothing))) {
      state.SkipWithError("not a yes");
      break;
    }
  state.counters["steps"] = static_cast<double>(node.allocator.latest_steps());
}

void one_device_short(benchmark::State& state) {
  OneNode node;
  const int devices = static_cast<int>(state.range(0));
  for (int i = 0; i < devices; ++i) node.device();
  node.ask_for(devices + 1, state.range(1) != 0);
  run_no(state, node);
}
BENCHMARK(one_device_short)->ArgsProduct({{8, 32, 128}, {0, 1}})->Unit(benchmark::kMicrosecond);

// Groups of `each` devices with one value; `each` + 1 are wanted with the same.
void match_one_short(benchmark::State& state) {
  OneNode node;
  const int each = static_cast<int>(state.range(0));
  for (int i = 0; i < 128; ++i) node.device().attributes["numa"] = std::int64_t{i / each};
  node.ask_for(each + 1, state.range(1) != 0);
  for (api::ResourceClaim& claim : node.wanted) claim.constraints.push_back({{}, "gpu.example.com/numa", ""});
  run_no(state, node);
}
BENCHMARK(match_one_short)->ArgsProduct({{8, 31}, {0, 1}})->Unit(benchmark::kMicrosecond);

void distinct_one_short(benchmark::State& state) {
  OneNode node;
  const int values = static_cast<int>(state.range(0));
  for (int i = 0; i < 128; ++i) node.device().attributes["rack"] = std::int64_t{i % values};
  node.ask_for(values + 1, state.range(1) != 0);
  for (api::ResourceClaim& claim : node.wanted) claim.constraints.push_back({{}, "", "gpu.example.com/rack"});
  run_no(state, node);
}
BENCHMARK(distinct_one_short)->ArgsProduct({{7, 31}, {0, 1}})->Unit(benchmark::kMicrosecond);

// Each device draws 10 of a counter that has enough for all but one of those wanted.
void counter_one_short(benchmark::State& state) {
  OneNode node;
  const int wanted = static_cast<int>(state.range(0));
  node.counters({{"memory", Quantity::of(10 * wanted - 1)}});
  for (int i = 0; i < 128; ++i)
    node.device().consumes.push_back({"set", {{"memory", Quantity::of(10 + i % 3)}}, {}});
  node.ask_for(wanted, state.range(1) != 0);
  run_no(state, node);
}
BENCHMARK(counter_one_short)->ArgsProduct({{8, 32, 100}, {0, 1}})->Unit(benchmark::kMicrosecond);

// Eight devices on 70Gi: the second draws 20, so seven fit only without it.
void counters_weighed_one_short(benchmark::State& state) {
  OneNode node;
  constexpr int kDevices = 64, kWanted = 32, kBoth = 263;
  node.counters({{"a", Quantity::of(kBoth * kWanted / 2 - 1)}, {"b", Quantity::of(kBoth * kWanted / 2)}});
  for (int i = 0; i < kDevices; ++i)
    node.device().consumes.push_back(
        {"set", {{"a", Quantity::of(100 + i)}, {"b", Quantity::of(kBoth - 100 - i)}}, {}});
  node.ask_for(kWanted, false);
  run_no(state, node);
}
BENCHMARK(counters_weighed_one_short)->Unit(benchmark::kMicrosecond);

void partitions_seven_of_eight(benchmark::State& state) {
  OneNode node;
  std::map<std::string, Quantity> amounts = {{"memory", *parse_quantity("70Gi")}};
  for (int i = 0; i < 8; ++i) amounts["cpu-" + std::to_string(i)] = Quantity::of(1);
  node.counters(amounts);
  for (int i = 0; i < 8; ++i)
    node.device().consumes.push_back({"set",
                                      {{"memory", *parse_quantity(i == 1 ? "20Gi" : "10Gi")},
                                       {"cpu-" + std::to_string(i), Quantity::of(1)}},
                                      {}});
  OneNode::request(node.claim(), 7);
  run_yes(state, node);
}
BENCHMARK(partitions_seven_of_eight)->Unit(benchmark::kMicrosecond);

// Two devices on two of four counters, four on one; two of one slice's id are wanted, and the first is wrong.
void partitions_one_backtrack(benchmark::State& state) {
  OneNode node;
  node.counters(
      {{"c1", Quantity::of(1)}, {"c2", Quantity::of(1)}, {"c3", Quantity::of(1)}, {"c4", Quantity::of(1)}});
  const auto add = [&](const std::map<std::string, Quantity>& draws, std::int64_t id) {
    api::Device& device = node.device();
    device.consumes.push_back({"set", draws, {}});
    device.attributes["id"] = id;
  };
  add({{"c1", Quantity::of(1)}, {"c2", Quantity::of(1)}}, 1);
  add({{"c3", Quantity::of(1)}, {"c4", Quantity::of(1)}}, 2);
  for (int i = 1; i <= 4; ++i) add({{"c" + std::to_string(i), Quantity::of(1)}}, 2);
  api::ResourceClaim& claim = node.claim();
  OneNode::request(claim, 2);
  claim.constraints.push_back({{}, "gpu.example.com/id", ""});
  run_yes(state, node);
}
BENCHMARK(partitions_one_backtrack)->Unit(benchmark::kMicrosecond);

// 64 devices with 47 values each that nobody shares; the last 32 share one more.
void list_attributes_exact_fit(benchmark::State& state) {
  DeviceGates gates;
  gates.list_attributes = true;
  OneNode node(gates);
  for (int i = 0; i < 64; ++i) {
    std::vector<std::string> values;
    for (int v = 0; v < 47; ++v) values.push_back("d" + std::to_string(i) + "-" + std::to_string(v));
    if (i >= 32) values[20] = "shared";
    node.device().attributes["links"] = std::move(values);
  }
  api::ResourceClaim& claim = node.claim();
  for (int i = 0; i < 32; ++i) OneNode::request(claim, 1);
  claim.constraints.push_back({{}, "gpu.example.com/links", ""});
  run_yes(state, node);
}
BENCHMARK(list_attributes_exact_fit)->Unit(benchmark::kMicrosecond);

void consumable_capacity(benchmark::State& state) {
  OneNode node;
  for (int i = 0; i < 4; ++i) {
    api::Device& device = node.device();
    device.allow_multiple = true;
    api::CapacityPolicy policy;
    policy.default_value = policy.range_min = *parse_quantity("1Gi");
    device.capacity["memory"] = {*parse_quantity("80Gi"), policy};
  }
  api::ResourceClaim& claim = node.claim();
  for (int i = 0; i < 2; ++i) OneNode::request(claim, 1).capacity["memory"] = *parse_quantity("10Gi");
  run_yes(state, node);
}
BENCHMARK(consumable_capacity)->Unit(benchmark::kMicrosecond);

void groups_and_taints(benchmark::State& state) {
  DeviceGates gates;
  gates.compatibility_groups = true;
  OneNode node(gates);
  node.counters({{"memory", Quantity::of(100)}});
  for (int i = 0; i < 8; ++i) {
    api::Device& device = node.device();
    device.consumes.push_back({"set", {{"memory", Quantity::of(10)}}, {i == 0 ? "vgpu" : "mig"}});
    device.taints.push_back({"maintenance", "", "NoSchedule", {}});
  }
  api::DeviceSubRequest& wanted = OneNode::request(node.claim(), 2);
  wanted.tolerations.push_back({"maintenance", "Exists", "", "", {}});
  run_yes(state, node);
}
BENCHMARK(groups_and_taints)->Unit(benchmark::kMicrosecond);

// Three requests that must agree in their numa, of ten devices in two.
void match_over_three_requests(benchmark::State& state) {
  OneNode node;
  for (int i = 0; i < 10; ++i) node.device().attributes["numa"] = std::int64_t{i / 5};
  api::ResourceClaim& claim = node.claim();
  for (int i = 0; i < 3; ++i) OneNode::request(claim, 1);
  claim.constraints.push_back({{}, "gpu.example.com/numa", ""});
  run_yes(state, node);
}
BENCHMARK(match_over_three_requests)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace berth::dra
