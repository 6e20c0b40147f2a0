// NodeOrder against a map of names, after any history of nodes that join, leave and come back.
#include "placement/index/node_order.h"

#include <gtest/gtest.h>

#include "placement/test_cluster.h"

namespace berth::placement {
namespace {

class Membership {
 public:
  void join(const std::string& name) { bench_.put_node(name, ""); }
  void leave(const std::string& name) { bench_.erase(api::Kind::Node, "", name); }
  // A change that is none of the set of nodes.
  void label(const std::string& name) {
    bench_.put_node(name, R"("a":")" + std::to_string(++labels_) + "\"");
  }
  const model::Cluster& cluster() const { return bench_.cluster; }

  // Names and slots as the cluster has them; a slot is kept while its node lives.
  void check(NodeOrder& order) {
    order.catch_up(bench_.cluster);
    const auto& live = bench_.cluster.live_nodes();
    ASSERT_EQ(order.by_name().size(), live.size());
    std::map<std::string, std::uint32_t> slots;
    std::set<std::uint32_t> taken;
    std::size_t position = 0;
    std::uint64_t label = 0;
    for (const auto& [name, node] : live) {
      ASSERT_EQ(order.by_name()[position++], node);
      const std::uint32_t slot = order.slot(node);
      ASSERT_LT(slot, order.slot_count());
      ASSERT_EQ(order.node(slot), node);
      ASSERT_TRUE(taken.insert(slot).second) << name;
      ASSERT_GT(order.labels()[slot], label) << name;
      label = order.labels()[slot];
      slots[name] = slot;
    }
    for (std::uint32_t slot = 0; slot < order.slot_count(); ++slot)
      ASSERT_EQ(order.node(slot).valid(), taken.contains(slot));
    if (generation_ != order.generation()) {
      slots_.clear();
      last_.clear();
    }
    for (const std::uint32_t slot : taken) last_[slot] = order.node(slot);
    for (const auto& [slot, node] : last_) ASSERT_EQ(order.slot(node), slot) << "its last node names it";
    for (const auto& [name, slot] : slots_)
      if (slots.contains(name)) {
        ASSERT_EQ(slots[name], slot) << name;
      }
    slots_ = slots;
    generation_ = order.generation();
  }

 private:
  PluginBench bench_;
  int labels_ = 0;
  std::map<std::string, std::uint32_t> slots_;  // at the latest check
  std::map<std::uint32_t, NodeId> last_;        // by slot
  std::uint64_t generation_ = 0;
};

TEST(NodeOrder, EqualsTheNamesAfterAnyHistory) {
  EXPECT_TRUE(rc::check("as a map", [] {
    Membership nodes;
    NodeOrder order;
    // Many nodes: one that joins or leaves is not a reason to read all names.
    for (int i = 0; i < 600; ++i) nodes.join("n" + std::to_string(i));
    nodes.check(order);
    for (int step = 0; step < 60; ++step) {
      const std::string name = "n" + std::to_string(random_below(600));
      switch (random_below(6)) {
        case 0:
          nodes.join(name + "-" + std::to_string(step));
          break;
        case 1:
          nodes.label(name);
          break;
        case 2:
          for (int i = 0; i < 20; ++i) nodes.leave("n" + std::to_string(random_below(600)));
          break;
        case 3:
          nodes.join(name);
          break;
        default:
          nodes.leave(name);
      }
      if (random_below(2) == 0) nodes.check(order);
      RC_ASSERT(!testing::Test::HasFailure());
    }
  }));
}

// Every node joins before the one that joined last: where labels run out of room first.
TEST(NodeOrder, HasRoomForAnyNumberOfNodesAtOnePlace) {
  Membership nodes;
  NodeOrder order;
  nodes.join("a");
  nodes.join("z");
  order.catch_up(nodes.cluster());
  std::string digits = "0000";
  for (int i = 0; i < 1500; ++i) {
    for (std::size_t at = 4; at-- > 0 && ++digits[at] > '9';) digits[at] = '0';
    nodes.join((i % 3 == 0 ? "p" : "m") + digits);
    order.catch_up(nodes.cluster());
    if (i % 100 == 0) nodes.check(order);
  }
  for (int i = 9999; i > 9500; --i) {
    nodes.join("n" + std::to_string(i));
    order.catch_up(nodes.cluster());
  }
  nodes.check(order);
}

TEST(NodeOrder, FreesSlotsWhenMostNodesHaveLeft) {
  Membership nodes;
  NodeOrder order;
  for (int i = 0; i < 3000; ++i) nodes.join("n" + std::to_string(i));
  nodes.check(order);
  EXPECT_EQ(order.slot_count(), 3000u);
  const std::uint64_t before = order.generation();
  for (int i = 0; i < 2990; ++i) {
    nodes.leave("n" + std::to_string(i));
    order.catch_up(nodes.cluster());
  }
  nodes.check(order);
  EXPECT_NE(order.generation(), before);
  EXPECT_LE(order.slot_count(), 1044u);
}

TEST(NodeOrder, ReadsAllNamesWhenTheLogWasOverwritten) {
  Membership nodes;
  NodeOrder order;
  for (const char* name : {"b", "a", "d"}) nodes.join(name);
  nodes.check(order);
  nodes.leave("a");
  nodes.join("c");
  for (std::size_t i = 0; i <= model::kChangesMax; ++i) nodes.label("b");
  nodes.check(order);
}

}  // namespace
}  // namespace berth::placement
