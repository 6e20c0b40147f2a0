// rooms: placement scheduling dra
// Large clusters that are full of pods: what one pod more costs on 100,000 nodes with a million pods.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include "dra/cel_selectors.h"
#include "scheduling/scheduler.h"

namespace berth::scheduling {
namespace {

constexpr int kNodes = 100'000, kPodsOfANode = 10;

constexpr const char* kOverZones =
    R"(,"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",)"
    R"("labelSelector":{"matchLabels":{"app":"x"}}}])";

// A million pods with the label app=x, in three zones; nothing is ever committed.
class FullCluster {
 public:
  FullCluster() {
    for (int i = 0; i < kNodes; ++i) {
      const std::string n = std::to_string(i), node = "node-" + n;
      put(api::Kind::Node, R"({"metadata":{"name":")" + node + R"(","labels":{"zone":"z)" +
                               std::to_string(i % 3) +
                               R"("}},"status":{"allocatable":{"cpu":"64","memory":"256Gi","pods":"110"}}})");
      for (int p = 0; p < kPodsOfANode; ++p) put_pod(n + "-" + std::to_string(p), "1", node, "");
    }
  }
  std::shared_ptr<const api::Pod> put_pod(const std::string& name, const std::string& cpu,
                                          const std::string& node, const std::string& more) {
    return std::get<std::shared_ptr<const api::Pod>>(
        put(api::Kind::Pod, R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":"u)" + name +
                                R"(","labels":{"app":"x"}},"spec":{)" +
                                (node.empty() ? "" : R"("nodeName":")" + node + "\",") +
                                R"("containers":[{"name":"c","resources":{"requests":{"cpu":")" + cpu +
                                R"(","memory":"1Gi"}}}])" + more + R"(},"status":{"phase":"Running"}})"));
  }
  model::NodeId choose(const api::Pod& pod) {
    cycle_.begin(state_, context_, pod, nullptr);
    const model::NodeId node = cache_.choose(state_, {});
    if (!node.valid()) std::abort();
    return node;
  }
  // Places the pod, looks where the next one goes, and takes the pod back.
  void place(const api::Pod& pod, const api::Pod& next) {
    model::Ledger::Transaction transaction(cluster_.ledger());
    const model::NodeId node = choose(pod);
    if (!cycle_.reserve(state_, node, transaction)) std::abort();
    choose(next);
  }

 private:
  api::TypedObject put(api::Kind kind, const std::string& text) {
    auto typed = *api::decode_typed(kind, std::make_shared<const std::string>(text), api::Text::Drop);
    const api::ObjectMeta& meta = api::meta_of(typed);
    cluster_.apply({{kind, meta.ns, meta.name, {}}, std::nullopt, typed});
    return typed;
  }

  client::View view_;
  dra::CelSelectors selectors_;
  SeededRandom random_{1};
  model::Cluster cluster_;
  dra::Allocator allocator_{cluster_, selectors_, random_};
  const placement::SchedulingContext context_{view_, cluster_, allocator_};
  placement::Profiles profiles_{placement::default_plugins()};
  placement::DomainIndex domains_;
  placement::PodCycle cycle_{profiles_, domains_};
  placement::SignatureCache cache_{cycle_, domains_};
  placement::CycleState state_;
};

// Built once: it takes some seconds, and all rows leave it as it is but for pods that wait.
FullCluster& full_cluster() {
  static FullCluster cluster;
  return cluster;
}

void one_more_pod(benchmark::State& state, const char* more) {
  FullCluster& cluster = full_cluster();
  const auto pod = cluster.put_pod("first", "1", "", more), next = cluster.put_pod("second", "1", "", more);
  cluster.place(*pod, *next);
  for (auto _ : state) cluster.place(*pod, *next);
}
void PlainPodBesideAMillion(benchmark::State& state) {
  one_more_pod(state, "");
}
void SpreadPodBesideAMillion(benchmark::State& state) {
  one_more_pod(state, kOverZones);
}

void cold_pod(benchmark::State& state, const char* more) {
  FullCluster& cluster = full_cluster();
  int cpu = 1000;
  for (auto _ : state) {
    state.PauseTiming();
    const auto pod = cluster.put_pod("cold", std::to_string(cpu++) + "m", "", more);
    state.ResumeTiming();
    cluster.choose(*pod);
  }
}
void ColdPodBesideAMillion(benchmark::State& state) {
  cold_pod(state, "");
}
void ColdSpreadPodBesideAMillion(benchmark::State& state) {
  cold_pod(state, kOverZones);
}

BENCHMARK(PlainPodBesideAMillion)->Unit(benchmark::kMicrosecond);
BENCHMARK(SpreadPodBesideAMillion)->Unit(benchmark::kMicrosecond);
BENCHMARK(ColdPodBesideAMillion)->Iterations(20)->Unit(benchmark::kMillisecond);
BENCHMARK(ColdSpreadPodBesideAMillion)->Iterations(20)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth::scheduling
