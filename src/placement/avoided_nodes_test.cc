#include "placement/avoided_nodes.h"

#include <gtest/gtest.h>

namespace berth::placement {
namespace {

std::vector<model::NodeId> ids(std::initializer_list<std::uint32_t> numbers) {
  return {numbers.begin(), numbers.end()};
}
std::vector<model::NodeId> list_of(const AvoidedNodes& avoided) {
  return {avoided.nodes().begin(), avoided.nodes().end()};
}

TEST(AvoidedNodes, PodsShareOneList) {
  const AvoidedNodes one(ids({1, 4}));
  AvoidedByPod by_pod;
  for (const char* uid : {"a", "b"}) by_pod[uid] = by_pod[uid].with(one);
  EXPECT_EQ(avoided_by(by_pod, "a").nodes().data(), one.nodes().data());
  EXPECT_EQ(avoided_by(by_pod, "b").nodes().data(), one.nodes().data());
  EXPECT_EQ(one.with({}).nodes().data(), one.nodes().data());
  EXPECT_EQ(one.with(one).nodes().data(), one.nodes().data());
  EXPECT_TRUE(avoided_by(by_pod, "c").empty());
}

TEST(AvoidedNodes, BothListsCount) {
  const AvoidedNodes both = AvoidedNodes(ids({1, 4})).with(AvoidedNodes(ids({2, 4, 7})));
  EXPECT_EQ(list_of(both), ids({1, 2, 4, 7}));
}

TEST(AvoidedNodes, EqualListsAreEqual) {
  const AvoidedNodes a(ids({1, 4})), b(ids({1, 4})), c(ids({1, 5}));
  EXPECT_FALSE(a < b || b < a);
  EXPECT_TRUE(a < c && !(c < a));
  EXPECT_TRUE(AvoidedNodes() < a);
  EXPECT_TRUE(AvoidedNodes(ids({})).empty());
}

}  // namespace
}  // namespace berth::placement
