// rooms: base placement dra
// One search for moves that make racks whole, on 5,000 nodes with 8 GPUs each in racks of 16. Each rack has
// pods of 1 to 8 GPUs on some of its nodes; a gang that fills a rack waits.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "base/random.h"
#include "decision_bench.h"
#include "placement/defragmentation/defragmentation.h"

namespace berth::placement {
namespace {

constexpr int kGpusOfNode = 8, kNodesOfRack = 16;

class FragmentedRacks : DecisionBench {
 public:
  explicit FragmentedRacks(int nodes) {
    for (int node = 0; node < nodes; ++node) {
      put_node(node);
      for (int left = kGpusOfNode; left > 0 && random_.below(100) < 55;) {
        const int gpus = std::min(left, 1 << random_.below(4));
        put_pod("p" + std::to_string(pods_++),
                R"("nodeName":"n)" + std::to_string(node) + R"(",)" + containers(gpus),
                R"(,"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"o","uid":"o",)"
                R"("controller":true}])");
        left -= gpus;
      }
    }
    put_gang();
  }

  std::size_t moves() {
    const SchedulingContext context = this->context();
    const std::vector<WaitingEntity> waiting = {{{"ns", "g", EntityKind::Group}, group("ns", "g")}};
    const std::vector<std::string> level = {"rack"};
    const OwnersOf owners = [](const std::string&, const api::OwnerReference&) { return KnownOwners(); };
    const std::set<PodId> stay;
    DefragmentationLimits limits;
    limits.moves_max = limits.moves_per_domain_max = 256;
    model::Ledger::Transaction transaction(cluster_.ledger());
    const DefragmentationPlan plan =
        find_defragmentation(core_, {context, level, waiting, stay, owners, limits}, transaction);
    std::size_t moves = 0;
    for (const DefragmentedDomain& domain : plan.domains) moves += domain.moves.size();
    if (moves == 0 || plan.ended) std::abort();
    return moves;
  }

 private:
  static std::string containers(int gpus) {
    return R"("containers":[{"name":"c","resources":{"requests":{"cpu":"1","nvidia.com/gpu":")" +
           std::to_string(gpus) + R"("}}}])";
  }
  void put_node(int node) {
    put(api::Kind::Node,
        "\"name\":\"n" + std::to_string(node) + R"(","labels":{"rack":"r)" +
            std::to_string(node / kNodesOfRack) + "\"}",
        R"("status":{"allocatable":{"cpu":"96","memory":"640Gi","pods":"110","nvidia.com/gpu":")" +
            std::to_string(kGpusOfNode) + "\"}}");
  }
  void put_pod(const std::string& name, const std::string& spec, const std::string& meta) {
    put(api::Kind::Pod, "\"name\":\"" + name + R"(","namespace":"ns","uid":")" + name + "\"" + meta,
        R"("spec":{)" + spec + R"(},"status":{"phase":"Running"})");
  }
  void put_gang() {
    put(api::Kind::PodGroup, R"("name":"g","namespace":"ns","uid":"g")",
        R"("spec":{"schedulingPolicy":{"gang":{"minCount":16}},"schedulingConstraints":{"topology":)"
        R"([{"key":"rack"}]}})");
    for (int i = 0; i < kNodesOfRack; ++i)
      put_pod("g" + std::to_string(i), R"("schedulingGroup":{"podGroupName":"g"},)" + containers(kGpusOfNode),
              "");
  }

  SeededRandom random_{7};
  int pods_ = 0;
};

void RacksOf5000NodesMadeWhole(benchmark::State& state) {
  FragmentedRacks racks(5'000);
  std::size_t moves = 0;
  for (auto _ : state) benchmark::DoNotOptimize(moves = racks.moves());
  state.counters["moves"] = static_cast<double>(moves);
}
BENCHMARK(RacksOf5000NodesMadeWhole)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth::placement
