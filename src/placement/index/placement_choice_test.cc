// PlacementChoice against PodCycle::choose, which judges every node, on random nodes with random members.
#include "placement/index/placement_choice.h"

#include <gtest/gtest.h>

#include "placement/plugin_bench.h"
#include "placement/test_cluster.h"

namespace berth::placement {
namespace {

// Nodes of three sizes, some of them full, and members that ask for 1 to 3 CPUs; the second one of a kind is
// alike, and may repeat the one before it. A node may lose what was placed there.
TEST(PlacementChoice, ChoosesAsTheCycleThatJudgesEveryNode) {
  EXPECT_TRUE(rc::check("the same node for every member", [] {
    PluginBench bench;
    const int nodes = 1 + random_below(40);
    for (int i = 0; i < nodes; ++i) {
      const std::string name = "n" + std::to_string(100 + i);
      bench.put(api::Kind::Node,
                R"({"metadata":{"name":")" + name + R"("},"status":{"allocatable":{"cpu":")" +
                    std::to_string(2 + random_below(5)) + R"(","memory":"8Gi","pods":"3"}}})");
    }
    const int members = 2 + random_below(30);
    for (int i = 0; i < members; ++i)
      bench.put(api::Kind::Pod,
                R"({"metadata":{"name":"p)" + std::to_string(i) + R"(","namespace":"ns","uid":"p)" +
                    std::to_string(i) +
                    R"("},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":")" +
                    std::to_string(1 + random_below(3)) + R"("}}}]}})");
    std::vector<NodeId> some;  // of a domain
    for (const NodeId node : bench.domains.nodes(bench.cluster))
      if (!one_in(5)) some.push_back(node);
    model::Ledger::Transaction transaction(bench.cluster.ledger());
    NodePositions positions;
    PlacementChoice choice(bench.pods, positions, some);
    CycleState slow;
    const api::Pod* before_it = nullptr;  // the member that the state is about
    for (int i = 0; i < members; ++i) {
      const api::Pod& pod = *bench.view.pods.find("ns", "p" + std::to_string(i));
      bench.pods.begin(slow, bench.context, pod, &transaction);
      const NodeId wanted = bench.pods.prepare(slow) ? bench.pods.choose(slow, some, {}) : NodeId::none();
      const std::string why = wanted.valid() ? "" : fit_sentence(bench.pods.fit_error(slow), some.size());
      const bool repeats = before_it && model::are_alike(*before_it, pod) && choice.may_repeat();
      before_it = &pod;
      if (repeats)
        RC_ASSERT(bench.pods.repeat(bench.state, pod, slow.pod_id));
      else
        bench.pods.begin(bench.state, bench.context, pod, &transaction);
      const NodeId node =
          repeats ? choice.choose_again(bench.state) : choice.choose(bench.state, {}, one_in(2));
      RC_ASSERT(node == wanted);
      if (!node.valid()) {
        RC_ASSERT(fit_sentence(bench.pods.fit_error(bench.state), some.size()) == why);
        continue;
      }
      const auto before = transaction.savepoint();
      RC_ASSERT(bench.pods.reserve(bench.state, node, transaction).has_value());
      if (one_in(6)) transaction.roll_back_to(before);
    }
  }));
}

TEST(PlacementChoice, MembersThatAreAlikeCostNoPassOverTheNodes) {
  PluginBench bench;
  put_300_nodes(bench);
  const JudgedNodes& judged = JudgedNodes::add_to(bench);
  const std::vector<NodeId>& nodes = bench.domains.nodes(bench.cluster);
  for (int i = 0; i < 10; ++i) bench.put_pod("p" + std::to_string(i));
  model::Ledger::Transaction transaction(bench.cluster.ledger());
  NodePositions positions;
  PlacementChoice choice(bench.pods, positions, nodes);
  for (int i = 0; i < 10; ++i) {
    const api::Pod& pod = *bench.view.pods.find("ns", "p" + std::to_string(i));
    bench.pods.begin(bench.state, bench.context, pod, &transaction);
    const NodeId node = choice.choose(bench.state, {});
    ASSERT_TRUE(bench.pods.reserve(bench.state, node, transaction).has_value());
  }
  EXPECT_EQ(judged.judged, 300u + 9u);
}

}  // namespace
}  // namespace berth::placement
