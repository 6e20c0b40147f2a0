// rooms: scheduling dra
// One decision, from the queue to the effects: a gang over 50 racks of 5,000 nodes, a pod with a claim over
// 500 nodes of ten devices. Each turn takes the decision back, so that the next one sees the same cluster.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>

#include "dra/cel_selectors.h"
#include "scheduling/scheduler.h"

namespace berth::scheduling {
namespace {

struct Bench {
  void put(api::Kind kind, const std::string& meta, const std::string& rest) {
    const std::string text = R"({"metadata":{)" + meta + R"(,"resourceVersion":")" +
                             std::to_string(++version) + "\"}," + rest + "}";
    auto typed = api::decode_typed(kind, std::make_shared<const std::string>(text));
    const api::ObjectMeta& found = api::meta_of(*typed);
    scheduler.apply(view, *view.put({kind, found.ns, found.name, {}}, *typed), now);
  }
  void put_nodes(int count, int racks) {
    for (int i = 0; i < count; ++i) {
      const std::string n = std::to_string(i);
      put(api::Kind::Node,
          R"("name":"node-)" + n + R"(","uid":"n)" + n + R"(","labels":{"rack":"r)" +
              std::to_string(i % racks) + "\"}",
          R"("status":{"allocatable":{"cpu":"64","memory":"256Gi","pods":"110"}})");
    }
  }
  void put_pod(const std::string& name, const std::string& more) {
    put(api::Kind::Pod,
        R"("name":")" + name + R"(","namespace":"default","uid":"0000)" + name + R"(","generation":1)",
        R"("spec":{"schedulerName":"berth","containers":[{"name":"c",)"
        R"("resources":{"requests":{"cpu":"8","memory":"32Gi"}}}])" +
            more + "}");
  }
  // Every decision must place; it is taken back outside of the measured time.
  void decide(benchmark::State& state) {
    const client::Effects effects = scheduler.decide(view, now);
    benchmark::DoNotOptimize(effects.chains.data());
    state.PauseTiming();
    if (effects.chains.empty() || effects.chains[0].key.kind != api::Kind::BindRequest) {
      std::fprintf(stderr, "nothing was placed:\n%s\n", client::to_text(effects).c_str());
      std::abort();
    }
    scheduler.settle(view, {effects.decision_id, {{effects.chains[0].key, false, 0, {}}}, true}, now);
    now = now + Duration::seconds(20);
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

void pod_with_claim(benchmark::State& state, int nodes) {
  Bench bench;
  bench.put_nodes(nodes, 10);
  bench.put(api::Kind::DeviceClass, R"("name":"gpu","uid":"uc")",
            R"("spec":{"selectors":[{"cel":{"expression":"true"}}]})");
  for (int i = 0; i < nodes; ++i) {
    const std::string n = std::to_string(i);
    std::string devices;
    for (int d = 0; d < 10; ++d)
      devices += std::string(d == 0 ? "" : ",") + R"({"name":"gpu-)" + std::to_string(d) + "\"}";
    const std::string pool = R"("driver":"gpu.example.com","pool":{"name":"node-)" + n +
                             R"(","generation":1,"resourceSliceCount":1})";
    bench.put(api::Kind::ResourceSlice, R"("name":"s)" + n + R"(","uid":"us)" + n + "\"",
              R"("spec":{)" + pool + R"(,"nodeName":"node-)" + n + R"(","devices":[)" + devices + "]}");
  }
  bench.put(api::Kind::ResourceClaim, R"("name":"c","namespace":"default","uid":"ucl")",
            R"("spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"}}]}})");
  bench.put_pod("p", R"(,"resourceClaims":[{"name":"dev","resourceClaimName":"c"}])");
  for (auto _ : state) bench.decide(state);
}

void PodWithClaim500Nodes10Devices(benchmark::State& state) {
  pod_with_claim(state, 500);
}

BENCHMARK(GangOf4In50Racks5000Nodes)->Unit(benchmark::kMicrosecond);
BENCHMARK(GangOf4Anywhere5000Nodes)->Unit(benchmark::kMicrosecond);
BENCHMARK(PodWithClaim500Nodes10Devices)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace berth::scheduling
