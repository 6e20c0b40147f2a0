// Trees of groups with wishes: rows worked out by hand.
#include <gtest/gtest.h>

#include <map>

#include "placement/decision_core.h"
#include "placement/plugin_bench.h"
#include "placement/wishes/test_wishes.h"

namespace berth::placement {
namespace {

// Two groups below a composite one; a node takes one pod.
class WishTree {
 public:
  WishTree(const std::vector<std::pair<std::string, int>>& racks, int first, int second) {
    int number = 100;
    for (const auto& [path, nodes] : racks)
      for (int i = 0; i < nodes; ++i)
        bench_.put(api::Kind::Node,
                   R"({"metadata":{"name":"n)" + std::to_string(number++) + R"(","labels":{"block":")" +
                       path.substr(0, 2) + R"(","rack":")" + path.substr(3) +
                       R"("}},"status":{"allocatable":{"cpu":"1","memory":"8Gi","pods":"9"}}})");
    root_.meta.ns = "ns";
    root_.meta.name = root_.meta.uid = "root";
    root_.gang_min = 2;
    input_.nodes.resize(3);
    input_.nodes[0].composite = &root_;
    for (std::size_t child = 0; child < 2; ++child) {
      const std::string name = child == 0 ? "a" : "b";
      const int size = child == 0 ? first : second;
      groups_[child].meta.ns = "ns";
      groups_[child].meta.name = groups_[child].meta.uid = name;
      groups_[child].gang_min = size;
      TreeNode& node = input_.nodes[child + 1];
      node.parent = 0;
      input_.nodes[0].children.push_back(child + 1);
      node.group.group = &groups_[child];
      for (int i = 0; i < size; ++i)
        node.group.waiting.push_back(&bench_.put_pod(name + "-" + std::to_string(i)));
    }
  }
  void wish(std::size_t node, const GroupWish& wish) {
    auto shared = std::make_shared<const GroupWish>(wish);
    (node == 0 ? input_.nodes[0].wish : input_.nodes[node].group.wish) = shared;
  }
  TreeOutcome outcome() {
    DecisionCore core(bench_.cluster, bench_.selectors, {});
    const SchedulingContext context{bench_.view, bench_.cluster, core.allocator()};
    model::Ledger::Transaction transaction(bench_.cluster.ledger());
    return core.decide_tree(context, input_, transaction);
  }
  // Of the node: "rack: b0/r0 4".
  std::string decide(std::size_t node) {
    const TreeOutcome outcome = this->outcome();
    if (outcome.kind != GroupOutcome::Kind::Placed) return "refused";
    GroupOutcome one;
    one.wish = outcome.nodes[node].wish;
    return WishBench::wish_of(one);
  }

 private:
  PluginBench bench_;
  api::CompositePodGroup root_;
  api::PodGroup groups_[2];
  TreeInput input_;
};

TEST(WishTrees, TheRootsWishHoldsForAllPodsBelow) {
  WishTree one({{"b0/r0", 3}, {"b0/r1", 5}, {"b1/r2", 9}}, 4, 4);
  one.wish(0, wish_for({kRackLevel, kBlockLevel}));
  EXPECT_EQ(one.decide(0), "rack: b1/r2 8");
  WishTree block({{"b0/r0", 4}, {"b0/r1", 4}, {"b1/r2", 5}, {"b2/r3", 2}}, 4, 4);
  block.wish(0, wish_for({kRackLevel, kBlockLevel}));
  EXPECT_EQ(block.decide(0), "block: b0/r0 4, b0/r1 4");
  WishTree none({{"b0/r0", 4}, {"b1/r2", 4}}, 4, 4);
  none.wish(0, wish_for({kRackLevel, kBlockLevel}));
  EXPECT_EQ(none.decide(0), ": b0/r0 4, b1/r2 4");
  WishTree required({{"b0/r0", 4}, {"b1/r2", 5}}, 4, 4);
  required.wish(0, wish_for({}, kBlockLevel));
  EXPECT_EQ(required.decide(0), "refused");
}

TEST(WishTrees, AChildKeepsItsOwnWish) {
  WishTree tree({{"b0/r0", 3}, {"b0/r1", 5}, {"b1/r2", 9}}, 4, 4);
  tree.wish(0, wish_for({}, kBlockLevel));
  tree.wish(1, wish_for({}, kRackLevel));
  tree.wish(2, wish_for({kRackLevel}));
  EXPECT_EQ(tree.decide(1).substr(0, 5), "rack:");
  WishTree segments({{"b0/r0", 2}, {"b0/r1", 3}, {"b0/r2", 3}}, 4, 4);
  GroupWish cut = wish_for({});
  cut.segments = WishSegments{kRackLevel, 2, 2};
  segments.wish(1, cut);
  segments.wish(2, cut);
  EXPECT_EQ(segments.decide(2), "refused");
  WishTree enough({{"b0/r0", 4}, {"b0/r1", 4}}, 4, 4);
  enough.wish(1, cut);
  enough.wish(2, cut);
  EXPECT_EQ(enough.decide(2), ": b0/r0 2, b0/r1 2");
}

TEST(WishTrees, AChildWithoutRoomInItsRequiredLevelIsNamed) {
  WishTree tree({{"b0/r0", 3}, {"b0/r1", 5}}, 6, 2);
  tree.wish(1, wish_for({}, kRackLevel));
  const TreeOutcome outcome = tree.outcome();
  ASSERT_TRUE(outcome.refusal && outcome.refusal->group->stuck);
  const StuckGroup& stuck = *outcome.refusal->group->stuck;
  EXPECT_EQ(stuck.name, "a");
  EXPECT_EQ(stuck.topology_key, "rack");
  EXPECT_EQ(stuck.nearest, "b0/r1");
}

}  // namespace
}  // namespace berth::placement
