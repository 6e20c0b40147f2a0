// rooms: simulate planning placement dra api model client
// What the question "this node goes" costs on a large cluster, without reading it: the pods of one node after
// another are lost and decided again.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "dra/gates.h"
#include "simulate/lost_nodes.h"
#include "simulate/script.h"
#include "simulate/started_cluster.h"

namespace berth::simulate {
namespace {

constexpr int kNodes = 5000;
constexpr int kRunningPerNode = 4;

planning::PlanOptions options() {
  static const api::Gates gates(api::GateDefaults::Up);
  planning::PlanOptions options;
  options.gates = &gates;
  options.device_gates = dra::gates_of(gates);
  return options;
}

// Each node has eight GPUs, and pods that have six of them; `gang`: pods of a node are one group.
std::unique_ptr<StartedCluster> cluster_of(bool gang) {
  StartInput input;
  for (int node = 0; node < kNodes; ++node) {
    const std::string name = "n" + std::to_string(node), group = "g" + std::to_string(node);
    input.objects.push_back(
        node_document(name, {64'000, 262'144, 8, {{"rack", "r" + std::to_string(node / 20)}}}));
    if (gang) input.objects.push_back(group_document(group, kRunningPerNode, "rack", 0));
    for (int pod = 0; pod < kRunningPerNode; ++pod) {
      input.objects.push_back(pod_document("p" + std::to_string(node) + "-" + std::to_string(pod),
                                           {4000, 16'384, pod < 2 ? 2 : 1}, gang ? group : ""));
      input.objects.back().object["spec"]["nodeName"] = name;
    }
  }
  auto made = StartedCluster::make(std::move(input), options());
  if (!made) {
    std::fprintf(stderr, "simulate_bench: %s\n", made.error().text().c_str());
    std::abort();
  }
  (*made)->settle();
  return *std::move(made);
}

void lose_one_node(benchmark::State& state, bool gang) {
  auto started = cluster_of(gang);
  int node = 0;
  std::size_t lost = 0, decisions = 0;
  for (auto _ : state) {
    if (node == kNodes / 4) {
      state.PauseTiming();
      started = cluster_of(gang);
      node = 0;
      state.ResumeTiming();
    }
    std::vector<client::NamedKey> pods;
    for (const LostPod& pod : lose_nodes(started->offline(), {"n" + std::to_string(node++)}))
      pods.push_back(pod.key);
    lost += pods.size();
    decisions +=
        decide_entities(started->offline(), started->planner(), started->entities_of(pods)).decisions.size();
  }
  if (lost < static_cast<std::size_t>(state.iterations()) * kRunningPerNode || decisions == 0) std::abort();
}

void NodeOf5000Goes(benchmark::State& state) {
  lose_one_node(state, false);
}
void NodeOf5000WithAGangGoes(benchmark::State& state) {
  lose_one_node(state, true);
}

BENCHMARK(NodeOf5000Goes)->Unit(benchmark::kMicrosecond);
BENCHMARK(NodeOf5000WithAGangGoes)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace berth::simulate
