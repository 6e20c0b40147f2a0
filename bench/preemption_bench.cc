// rooms: base model placement dra
// Decisions about gangs that have other pods evicted: one clique that is full, and a training run that takes
// the nodes of 39,000 pods. Each turn takes its decisions back.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <vector>

#include "decision_bench.h"
#include "model/scoped_hold.h"

namespace berth::placement {
namespace {

class PreemptingGangs : DecisionBench {
 public:
  void put_node(int number, int clique, int gpus) {
    put(api::Kind::Node,
        "\"name\":\"n" + std::to_string(number) + R"(","labels":{"clique":"c)" + std::to_string(clique) +
            "\"}",
        R"("status":{"allocatable":{"cpu":"96","memory":"640Gi","pods":"110","nvidia.com/gpu":")" +
            std::to_string(gpus) + "\"}}");
  }
  void put_victim(int node, int gpus) {
    const std::string name = "v" + std::to_string(victims_++);
    put(api::Kind::Pod, "\"name\":\"" + name + R"(","namespace":"ns","uid":")" + name + "\"",
        R"("spec":{"priority":30,"nodeName":"n)" + std::to_string(node) + R"(",)" + containers(gpus) +
            R"(},"status":{"phase":"Running","startTime":"2026-01-01T00:00:00Z"})");
  }
  void put_gang(const std::string& name, int members, int gpus, const std::string& more) {
    put(api::Kind::PodGroup, "\"name\":\"" + name + R"(","namespace":"ns","uid":")" + name + "\"",
        R"("spec":{"priority":65)" + more + R"(,"schedulingPolicy":{"gang":{"minCount":)" +
            std::to_string(members) + "}}}");
    for (int i = 0; i < members; ++i) {
      const std::string pod = name + "-" + std::to_string(i);
      put(api::Kind::Pod, "\"name\":\"" + pod + R"(","namespace":"ns","uid":")" + pod + "\"",
          R"("spec":{"priority":65,"schedulingGroup":{"podGroupName":")" + name + "\"}," + containers(gpus) +
              "}");
    }
  }
  // Finds its victims, and holds their room.
  std::size_t preempt(const std::string& gang) {
    const GroupInput input = group("ns", gang, [](const api::Pod& pod) { return !pod.bound(); });
    model::Ledger::Transaction transaction(cluster_.ledger());
    const GroupOutcome outcome = core_.decide_group(context(), input, transaction, {.searches = true});
    transaction.end();
    if (!outcome.preemption || outcome.preemption->ended) std::abort();
    const VictimPlan& plan = *outcome.preemption;
    model::Hold hold = cluster_.hold_for(plan.place, model::binding_equals(input.group->priority));
    for (const PreemptionVictim& victim : plan.victims) hold.leaving.push_back(victim.pod);
    holds_.emplace_back(cluster_.ledger(), std::move(hold));
    return plan.victims.size();
  }
  void give_up() { holds_.clear(); }

 private:
  static std::string containers(int gpus) {
    return R"("containers":[{"name":"c","resources":{"requests":{"cpu":"1","nvidia.com/gpu":")" +
           std::to_string(gpus) + R"("}}}])";
  }

  std::vector<model::ScopedHold> holds_;
  int victims_ = 0;
};

// A clique of 17 nodes with four GPUs each, all in use by 68 pods; a gang of 11 asks for one clique. Source:
// a peer leaves it pending.
void GangOf11InAFullClique(benchmark::State& state) {
  constexpr int kNodes = 17, kGpus = 4, kMembers = 11;
  PreemptingGangs gangs;
  for (int node = 0; node < kNodes; ++node) {
    gangs.put_node(node, 0, kGpus);
    for (int i = 0; i < kGpus; ++i) gangs.put_victim(node, 1);
  }
  gangs.put_gang("train", kMembers, 1, R"(,"schedulingConstraints":{"topology":[{"key":"clique"}]})");
  const auto decide = [&] {
    if (gangs.preempt("train") != kMembers) std::abort();
    gangs.give_up();
  };
  decide();
  for (auto _ : state) decide();
}
BENCHMARK(GangOf11InAFullClique)->Unit(benchmark::kMicrosecond);

// 40,000 nodes with a pod on each; the gangs of a run take 39,000 of them, one gang after the other.
void Preemption39000Pods(benchmark::State& state) {
  constexpr int kNodes = 40'000, kGpus = 8, kGangs = 39, kMembers = 1000, kNodesOfClique = 1000;
  PreemptingGangs gangs;
  for (int node = 0; node < kNodes; ++node) {
    gangs.put_node(node, node / kNodesOfClique, kGpus);
    gangs.put_victim(node, kGpus);
  }
  for (int gang = 0; gang < kGangs; ++gang) gangs.put_gang("g" + std::to_string(gang), kMembers, kGpus, "");
  for (auto _ : state) {
    std::size_t victims = 0;
    for (int gang = 0; gang < kGangs; ++gang) victims += gangs.preempt("g" + std::to_string(gang));
    if (victims != std::size_t{kGangs} * kMembers) std::abort();
    gangs.give_up();
  }
}
BENCHMARK(Preemption39000Pods)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace berth::placement
