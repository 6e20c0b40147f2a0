// rooms: simulate planning placement dra api model client
// What questions about a large cluster cost, without reading it: "this node goes", where the pods of one node
// after another are lost and decided again, and "when does it start", behind many groups that wait.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "dra/cel_selectors.h"
#include "dra/gates.h"
#include "planning/expected_start.h"
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

// Ten racks of 20 full nodes, whose pods end one rack after the other, and as many gangs of four of ten sizes
// that need whole nodes of one rack. The youngest gang starts with the last rack.
void StartBehindGroupsThatWait(benchmark::State& state) {
  constexpr int kRacks = 10, kNodesPerRack = 20, kMembers = 4;
  const auto groups = static_cast<int>(state.range(0));
  planning::PlanOptions dated = options();
  dated.now = Time::from_seconds(1'000'000);
  const auto runs_for = [](planning::Document& document, int minutes) {
    document.object["metadata"]["annotations"]["scheduling.berth.dev/expected-duration"] =
        std::to_string(minutes) + "m";
  };
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<planning::Document> objects;
    for (int node = 0; node < kRacks * kNodesPerRack; ++node) {
      const std::string name = "n" + std::to_string(node), rack = std::to_string(node / kNodesPerRack);
      objects.push_back(node_document(name, {64'000, 262'144, 0, {{"rack", "r" + rack}}}));
      objects.push_back(pod_document("full-" + std::to_string(node), {60'000, 1024, 0}, ""));
      objects.back().object["spec"]["nodeName"] = name;
      runs_for(objects.back(), 10 * (1 + node / kNodesPerRack));
    }
    for (int i = 0; i < groups; ++i) {
      const std::string group = "g" + std::to_string(i);
      objects.push_back(group_document(group, kMembers, "rack", 0));
      const std::int64_t cpu = i == groups - 1 ? 60'000 : 70'000 + i % 10;
      for (int member = 0; member < kMembers; ++member)
        objects.push_back(pod_document(group + "-" + std::to_string(member), {cpu, 1024, 0}, group));
    }
    auto offline = planning::OfflineCluster::make(std::move(objects), dated);
    if (!offline) std::abort();
    dra::CelSelectors selectors;
    state.ResumeTiming();
    const planning::ExpectedStart start = planning::expected_start(
        **offline, {placement::EntityKind::Group, {"default", "g" + std::to_string(groups - 1)}}, dated,
        selectors);
    if (!start.at) std::abort();
  }
}

BENCHMARK(StartBehindGroupsThatWait)->Arg(10000)->Unit(benchmark::kMillisecond);
BENCHMARK(NodeOf5000Goes)->Unit(benchmark::kMicrosecond);
BENCHMARK(NodeOf5000WithAGangGoes)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace berth::simulate
