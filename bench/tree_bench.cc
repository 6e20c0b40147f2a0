// rooms: base placement dra
// One decision about a tree of groups: siblings that fill the racks of one block, composite groups in a large
// cluster, a hundred groups of which one finds no rack, and the pods that go for a tree. Each turn takes the
// decision back. Source of the shapes: published cases of peers (sequential siblings; subgroups that are
// tried pod by pod).
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <numeric>

#include "base/random.h"
#include "decision_bench.h"
#include "placement/trees/tree_members.h"

namespace berth::placement {
namespace {

class TreeTurns : DecisionBench {
 public:
  void put_node(const std::string& name, int block, int rack, int cpu) {
    put(api::Kind::Node,
        "\"name\":\"" + name + R"(","labels":{"block":"b)" + std::to_string(block) + R"(","rack":"r)" +
            std::to_string(rack) + "\"}",
        R"("status":{"allocatable":{"cpu":")" + std::to_string(cpu) +
            R"(","memory":"9000Gi","pods":"500"}})");
  }
  void put_occupant(const std::string& name, const std::string& node, int cpu) {
    put(api::Kind::Pod, named(name),
        R"("spec":{"nodeName":")" + node + R"(","containers":[{"name":"c","resources":{"requests":{"cpu":")" +
            std::to_string(cpu) + R"("}}}]},"status":{"phase":"Running"})");
  }
  void put_root(const std::string& name, int groups, const std::string& key) {
    put(api::Kind::CompositePodGroup, named(name), policy("minGroupCount", groups, key, "") + "}");
  }
  // With its pods, of one cpu each.
  void put_group(const std::string& name, int pods, const std::string& key, const std::string& root) {
    put(api::Kind::PodGroup, named(name), policy("minCount", pods, key, root) + "}");
    for (int i = 0; i < pods; ++i)
      put(api::Kind::Pod, named(name + "-" + std::to_string(i)),
          R"("spec":{"priority":10,"schedulingGroup":{"podGroupName":")" + name +
              R"("},"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]})");
  }
  TreeOutcome decide(const std::string& root, const Preempting& preempting = {}) {
    const TreeInput input = tree_input(
        tree_members(view_, cluster_, questions(every_pod), {"default", root, EntityKind::CompositeGroup}),
        [](const api::Pod&) { return AvoidSet{}; });
    model::Ledger::Transaction transaction(cluster_.ledger());
    return core_.decide_tree(context(), input, transaction, preempting);
  }
  void require(const std::string& root, GroupOutcome::Kind kind) {
    const TreeOutcome outcome = decide(root);
    const bool proved = !outcome.refusal || outcome.refusal->group->unproved.empty();
    if (outcome.kind != kind || !proved) std::abort();
  }

 private:
  static std::string named(const std::string& name) {
    return "\"name\":\"" + name + R"(","namespace":"default","uid":"u)" + name + "\"";
  }
  static std::string policy(const std::string& field, int minimum, const std::string& key,
                            const std::string& root) {
    return R"("spec":{"priority":10,"schedulingPolicy":{"gang":{")" + field +
           "\":" + std::to_string(minimum) + "}}" +
           (key.empty() ? "" : R"(,"schedulingConstraints":{"topology":[{"key":")" + key + "\"}]}") +
           (root.empty() ? "" : R"(,"parentCompositePodGroupName":")" + root + "\"");
  }
};

// Eight blocks of eight racks with 2 to 18 free slots; ten groups, each in one rack, that need nine tenths to
// all of the best block.
void put_siblings(TreeTurns& turns, std::uint64_t seed) {
  SeededRandom random(seed);
  const auto below = [&](int bound) {
    return static_cast<int>(random.below(static_cast<std::uint64_t>(bound)));
  };
  std::vector<int> sizes;
  for (int block = 0; block < 8; ++block) {
    std::vector<int> free;
    for (int rack = 0; rack < 8; ++rack) {
      free.push_back(2 + below(17));
      turns.put_node("n" + std::to_string(block * 8 + rack), block, block * 8 + rack, free.back());
    }
    if (std::accumulate(free.begin(), free.end(), 0) > std::accumulate(sizes.begin(), sizes.end(), 0))
      sizes = free;
  }
  while (sizes.size() < 10) {
    const auto split = static_cast<std::size_t>(below(static_cast<int>(sizes.size())));
    if (sizes[split] < 2) continue;
    sizes.push_back(1 + below(sizes[split] - 1));
    sizes[split] -= sizes.back();
  }
  turns.put_root("root", 10, "block");
  for (std::size_t i = 0; i < sizes.size(); ++i)
    turns.put_group("g" + std::to_string(i), sizes[i], "rack", "root");
}
void TenSiblingsIn64Racks(benchmark::State& state) {
  TreeTurns turns;
  put_siblings(turns, 7);
  turns.require("root", GroupOutcome::Kind::Placed);
  for (auto _ : state) turns.decide("root");
}
// A hundred such clusters; one of them a turn.
void TenSiblingsInAHundredClusters(benchmark::State& state) {
  std::vector<std::unique_ptr<TreeTurns>> all;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    put_siblings(*all.emplace_back(std::make_unique<TreeTurns>()), seed);
    all.back()->require("root", GroupOutcome::Kind::Placed);
  }
  std::size_t turn = 0;
  for (auto _ : state) all[turn++ % all.size()]->decide("root");
}

// 1,500 composite groups of two groups of four pods, on 5,000 nodes; one of them a turn.
void CompositeOf2GangsOf4On5000Nodes(benchmark::State& state) {
  TreeTurns turns;
  for (int i = 0; i < 5000; ++i) turns.put_node("n" + std::to_string(i), i / 500, i / 100, 64);
  for (int i = 0; i < 1500; ++i) {
    const std::string root = "t" + std::to_string(i);
    turns.put_root(root, 2, "block");
    for (const char* group : {"a", "b"}) turns.put_group(root + group, 4, "rack", root);
  }
  turns.require("t0", GroupOutcome::Kind::Placed);
  std::size_t turn = 0;
  for (auto _ : state) turns.decide("t" + std::to_string(turn++ % 1500));
}

// 1,000 pods in 100 groups, 100 racks of ten, and one slot too few: refused with a proof.
void HundredGroupsOneSlotShort(benchmark::State& state) {
  TreeTurns turns;
  for (int i = 0; i < 100; ++i) turns.put_node("n" + std::to_string(i), 0, i, i == 99 ? 9 : 10);
  turns.put_root("root", 100, "block");
  for (int i = 0; i < 100; ++i) turns.put_group("g" + std::to_string(i), 10, "rack", "root");
  turns.require("root", GroupOutcome::Kind::Unschedulable);
  for (auto _ : state) turns.decide("root");
}

// The same in each of five blocks, whose racks are ten nodes of one slot.
void HundredGroupsOneSlotShort5000Nodes(benchmark::State& state) {
  TreeTurns turns;
  for (int i = 0; i < 5000; ++i)
    if (i % 1000 != 999) turns.put_node("n" + std::to_string(i), i / 1000, i / 10, 1);
  turns.put_root("root", 100, "block");
  for (int i = 0; i < 100; ++i) turns.put_group("g" + std::to_string(i), 10, "rack", "root");
  turns.require("root", GroupOutcome::Kind::Unschedulable);
  for (auto _ : state) turns.decide("root");
}

// Four groups of eight, each in one rack, in one of ten full blocks of eight racks of 16 nodes.
void TreePreemption(benchmark::State& state) {
  TreeTurns turns;
  for (int i = 0; i < 1280; ++i) {
    const std::string node = "n" + std::to_string(i);
    turns.put_node(node, i / 128, i / 16, 8);
    for (int k = 0; k < 4; ++k) turns.put_occupant("o" + std::to_string(4 * i + k), node, 2);
  }
  turns.put_root("root", 4, "block");
  for (int i = 0; i < 4; ++i) turns.put_group("g" + std::to_string(i), 8, "rack", "root");
  const auto decide = [&] {
    const TreeOutcome outcome = turns.decide("root", {.searches = true});
    if (!outcome.preemption || outcome.preemption->victims.size() != 16) std::abort();
  };
  decide();
  for (auto _ : state) decide();
}

BENCHMARK(TenSiblingsIn64Racks)->Unit(benchmark::kMicrosecond);
BENCHMARK(TenSiblingsInAHundredClusters)->Unit(benchmark::kMicrosecond);
BENCHMARK(CompositeOf2GangsOf4On5000Nodes)->Unit(benchmark::kMicrosecond);
BENCHMARK(HundredGroupsOneSlotShort)->Unit(benchmark::kMicrosecond);
BENCHMARK(HundredGroupsOneSlotShort5000Nodes)->Unit(benchmark::kMicrosecond);
BENCHMARK(TreePreemption)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace berth::placement
