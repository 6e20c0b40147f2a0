// rooms: base placement dra
// One step that moves members of a gang off failed nodes: which members lost their places, and the room for
// their successors in the same domain. Each turn takes the decision back. Source of the shape: 2 of 500 nodes
// fail, where a peer evicts all 500 pods.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "decision_bench.h"
#include "placement/replacement/lost_places.h"
#include "placement/replacement/replacement.h"

namespace berth::placement {
namespace {

class ReplacementTurns : DecisionBench {
 public:
  // A node for one member; with `taint` it fails.
  void put_node(int number, int rack, bool fails) {
    put(api::Kind::Node,
        "\"name\":\"n" + std::to_string(number) + R"(","labels":{"rack":"r)" + std::to_string(rack) + "\"}",
        std::string(R"("spec":{"taints":[)") + (fails ? R"({"key":"broken","effect":"NoExecute"})" : "") +
            R"(]},"status":{"allocatable":{"cpu":"8","memory":"64Gi","pods":"110"}})");
  }
  void put_gang(int members) {
    put(api::Kind::PodGroup, R"("name":"g","namespace":"default","uid":"g")",
        R"("spec":{"schedulingPolicy":{"gang":{"minCount":)" + std::to_string(members) + "}}}");
    for (int i = 0; i < members; ++i) {
      const std::string number = std::to_string(i);
      put(api::Kind::Pod, "\"name\":\"p" + number + R"(","namespace":"default","uid":"u)" + number + "\"",
          R"("spec":{"nodeName":"n)" + number +
              R"(","schedulingGroup":{"podGroupName":"g"},"containers":[{"name":"c","resources":{)"
              R"("requests":{"cpu":"8"}}}]},"status":{"phase":"Running"})");
    }
  }
  std::size_t replace(std::size_t expected) {
    const SchedulingContext context = this->context();
    GroupInput input = group("default", "g");
    auto wish = std::make_shared<GroupWish>();
    wish->levels = {{"rack", "rack"}};
    wish->required = 0;
    input.wish = wish;
    std::vector<const api::Pod*> lost;
    for (const LostPlace& place : lost_places(view_, input.placed, Time::from_seconds(1)).lost)
      lost.push_back(place.pod);
    model::Ledger::Transaction transaction(cluster_.ledger());
    const ReplacementAnswer answer =
        find_replacement(core_.group_cycle(), {context, input, lost}, ReplacementScope::Domain, transaction);
    if (!answer.plan || answer.plan->rooms.size() != expected) std::abort();
    return answer.plan->rooms.size();
  }
};

// A gang of 500 in a rack of 510, beside nine racks of the same size.
void TwoOf500NodesReplaced(benchmark::State& state) {
  ReplacementTurns turns;
  for (int i = 0; i < 5'100; ++i) turns.put_node(i, i / 510, i == 17 || i == 423);
  turns.put_gang(500);
  for (auto _ : state) benchmark::DoNotOptimize(turns.replace(2));
}
BENCHMARK(TwoOf500NodesReplaced)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth::placement
