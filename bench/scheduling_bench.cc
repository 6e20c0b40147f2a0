// rooms: scheduling dra
// One decision, from the queue to the effects: gangs over 5,000 nodes, a pod with a claim at every fill
// level, and how both a known and a new pod signature grow with the cluster. Each turn takes the decision
// back, so that the next one sees the same cluster.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>

#include "dra/cel_selectors.h"
#include "scheduling/scheduler.h"

namespace berth::scheduling {
namespace {

enum class Expect { Place, No };

struct Bench {
  void put(api::Kind kind, const std::string& meta, const std::string& rest) {
    const std::string text = R"({"metadata":{)" + meta + R"(,"resourceVersion":")" +
                             std::to_string(++version) + "\"}," + rest + "}";
    auto typed = api::decode_typed(kind, std::make_shared<const std::string>(text));
    const api::ObjectMeta& found = api::meta_of(*typed);
    scheduler.apply(view, *view.put({kind, found.ns, found.name, {}}, *typed), now);
  }
  void put_nodes(int count, int racks) {
    for (int i = 0; i < count; ++i) put_node(i, racks, 64);
  }
  void put_node(int i, int racks, int cpu) {
    const std::string n = std::to_string(i);
    put(api::Kind::Node,
        R"("name":"node-)" + n + R"(","uid":"n)" + n + R"(","labels":{"rack":"r)" +
            std::to_string(i % racks) + "\"}",
        R"("status":{"allocatable":{"cpu":")" + std::to_string(cpu) + R"(","memory":"256Gi","pods":"110"}})");
  }
  void put_pod(const std::string& name, const std::string& more, const std::string& cpu = "8") {
    put(api::Kind::Pod,
        R"("name":")" + name + R"(","namespace":"default","uid":"0000)" + name + R"(","generation":1)",
        R"("spec":{"schedulerName":"berth","containers":[{"name":"c",)"
        R"("resources":{"requests":{"cpu":")" +
            cpu + R"(","memory":"32Gi"}}}])" + more + "}");
  }
  // Every decision must be the expected one; it is taken back outside of the measured time.
  void decide(benchmark::State& state, Expect expected = Expect::Place) {
    const client::Effects effects = scheduler.decide(view, now);
    benchmark::DoNotOptimize(effects.chains.data());
    state.PauseTiming();
    const bool placed = !effects.chains.empty() && effects.chains[0].key.kind == api::Kind::BindRequest;
    if (placed != (expected == Expect::Place) || (!placed && effects.events.empty())) {
      std::fprintf(stderr, "not what was expected:\n%s\n", client::to_text(effects).c_str());
      std::abort();
    }
    if (!effects.chains.empty())  // of a refused pod: its condition
      scheduler.on_outcome(view, {effects.decision_id, {{effects.chains[0].key, false, 0, {}}}}, now);
    now = now + Duration::minutes(6);  // beyond every backoff and the sweep
    state.ResumeTiming();
  }

  Time now = Time::from_seconds(1'800'000'000);
  client::View view;
  dra::CelSelectors selectors;
  Scheduler scheduler{{}, selectors};
  int version = 0;
};

void gang(benchmark::State& state, int nodes, int racks, const char* topology) {
  Bench bench;
  bench.put_nodes(nodes, racks);
  bench.put(api::Kind::PodGroup, R"("name":"g","namespace":"default","uid":"ug")",
            std::string(R"("spec":{"schedulingPolicy":{"gang":{"minCount":4}})") + topology + "}");
  for (int i = 0; i < 4; ++i)
    bench.put_pod("p" + std::to_string(i), R"(,"schedulingGroup":{"podGroupName":"g"})");
  for (auto _ : state) bench.decide(state);
}

void GangOf4In50Racks5000Nodes(benchmark::State& state) {
  gang(state, 5000, 50, R"(,"schedulingConstraints":{"topology":[{"key":"rack"}]})");
}
void GangOf4Anywhere5000Nodes(benchmark::State& state) {
  gang(state, 5000, 50, "");
}

// The members share a channel of one of 100 domains, each a rack's pool that its nodes reach.
void GangOf4SharesOneOf100Domains5000Nodes(benchmark::State& state) {
  constexpr int kDomains = 100;
  Bench bench;
  bench.put_nodes(5000, kDomains);
  bench.put(api::Kind::DeviceClass, R"("name":"channel","uid":"uc")",
            R"("spec":{"selectors":[{"cel":{"expression":"true"}}]})");
  for (int i = 0; i < kDomains; ++i) {
    const std::string n = std::to_string(i);
    const std::string meta = R"("name":"s)" + n + R"(","uid":"us)" + n + '"';
    const std::string selector =
        R"({"matchExpressions":[{"key":"rack","operator":"In","values":["r)" + n + R"("]}]})";
    bench.put(api::Kind::ResourceSlice, meta,
              R"("spec":{"driver":"channel.example.com","pool":{"name":"d)" + n +
                  R"(","generation":1,"resourceSliceCount":1},"nodeSelector":{"nodeSelectorTerms":[)" +
                  selector + R"(]},"devices":[{"name":"channel-0"}]})");
  }
  bench.put(api::Kind::ResourceClaim, R"("name":"shared","namespace":"default","uid":"us")",
            R"("spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"channel"}}]}})");
  bench.put(api::Kind::PodGroup, R"("name":"g","namespace":"default","uid":"ug")",
            R"("spec":{"schedulingPolicy":{"gang":{"minCount":4}}})");
  for (int i = 0; i < 4; ++i)
    bench.put_pod("p" + std::to_string(i), R"(,"schedulingGroup":{"podGroupName":"g"},)"
                                           R"("resourceClaims":[{"name":"c","resourceClaimName":"shared"}])");
  for (auto _ : state) bench.decide(state);
}

constexpr int kDevices = 10;

void put_devices(Bench& bench, int nodes) {
  bench.put(api::Kind::DeviceClass, R"("name":"gpu","uid":"uc")",
            R"("spec":{"selectors":[{"cel":{"expression":"true"}}]})");
  for (int i = 0; i < nodes; ++i) {
    const std::string n = std::to_string(i);
    std::string devices;
    for (int d = 0; d < kDevices; ++d)
      devices += std::string(d == 0 ? "" : ",") + R"({"name":"gpu-)" + std::to_string(d) + "\"}";
    const std::string pool = R"("driver":"gpu.example.com","pool":{"name":"node-)" + n +
                             R"(","generation":1,"resourceSliceCount":1})";
    bench.put(api::Kind::ResourceSlice, R"("name":"s)" + n + R"(","uid":"us)" + n + "\"",
              R"("spec":{)" + pool + R"(,"nodeName":"node-)" + n + R"(","devices":[)" + devices + "]}");
  }
}

constexpr const char* kOneGpu =
    R"("spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"}}]}})";

// The k-th bound pod: nodes in turn, so that all are about equally full.
void put_bound_pod(Bench& bench, int k, int nodes) {
  const std::string n = std::to_string(k), node = "node-" + std::to_string(k % nodes);
  const std::string result = R"({"request":"r","driver":"gpu.example.com","pool":")" + node +
                             R"(","device":"gpu-)" + std::to_string(k / nodes) + "\"}";
  bench.put(api::Kind::ResourceClaim,
            R"("name":"full-)" + n + R"(","namespace":"default","uid":"ufc)" + n + "\"",
            kOneGpu + std::string(R"(,"status":{"allocation":{"devices":{"results":[)") + result + "]}}}");
  bench.put(
      api::Kind::Pod, R"("name":"full-)" + n + R"(","namespace":"default","uid":"ufp)" + n + "\"",
      R"("spec":{"schedulerName":"berth","nodeName":")" + node +
          R"(","containers":[{"name":"c"}],"resourceClaims":[{"name":"dev","resourceClaimName":"full-)" + n +
          "\"}]}");
}

void put_waiting_pod(Bench& bench) {
  bench.put(api::Kind::ResourceClaim, R"("name":"c","namespace":"default","uid":"ucl")", kOneGpu);
  bench.put_pod("p", R"(,"resourceClaims":[{"name":"dev","resourceClaimName":"c"}])");
}

// B1, B2: one device of 500 nodes of ten; the argument is how many of the 5,000 are taken. When all are, the
// answer is why.
void PodWithClaim500Nodes(benchmark::State& state) {
  const int nodes = 500, taken = static_cast<int>(state.range(0));
  Bench bench;
  bench.put_nodes(nodes, 10);
  put_devices(bench, nodes);
  for (int k = 0; k < taken; ++k) put_bound_pod(bench, k, nodes);
  put_waiting_pod(bench);
  for (auto _ : state) bench.decide(state, taken < nodes * kDevices ? Expect::Place : Expect::No);
}

// Growth: the signature is known; since the last decision one node changed (the one that was taken back) and
// as many as the second argument says.
void WarmPodWithClaim(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0)), changed = static_cast<int>(state.range(1));
  Bench bench;
  bench.put_nodes(nodes, 10);
  put_devices(bench, nodes);
  put_waiting_pod(bench);
  int cpu = 0;
  for (auto _ : state) {
    state.PauseTiming();
    for (int i = 0; i < changed; ++i) bench.put_node(i * (nodes / changed), 10, 32 + cpu++ % 32);
    state.ResumeTiming();
    bench.decide(state, Expect::Place);
  }
}

// Growth: every signature is new, because no two pods ask for the same.
void ColdPod(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  Bench bench;
  bench.put_nodes(nodes, 10);
  int cpu = 0;
  for (auto _ : state) {
    state.PauseTiming();
    bench.put_pod("p", "", std::to_string(1000 + cpu++ % 5000) + "m");
    state.ResumeTiming();
    bench.decide(state, Expect::Place);
  }
}

BENCHMARK(GangOf4In50Racks5000Nodes)->Unit(benchmark::kMicrosecond);
BENCHMARK(GangOf4Anywhere5000Nodes)->Unit(benchmark::kMicrosecond);
BENCHMARK(GangOf4SharesOneOf100Domains5000Nodes)->Unit(benchmark::kMicrosecond);
BENCHMARK(PodWithClaim500Nodes)->Arg(0)->Arg(2500)->Arg(4990)->Arg(5000)->Unit(benchmark::kMicrosecond);
BENCHMARK(WarmPodWithClaim)->ArgsProduct({{500, 5000, 50000}, {0, 16}})->Unit(benchmark::kMicrosecond);
BENCHMARK(ColdPod)->Arg(500)->Arg(5000)->Arg(50000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace berth::scheduling
