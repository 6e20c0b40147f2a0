#include "topology/tree.h"

#include <gtest/gtest.h>

namespace berth::topology {
namespace {

std::string text_of(const Tree& tree, const std::vector<std::string>& names) {
  std::string text;
  for (const DomainId leaf : tree.leaves()) {
    text += tree.path_of(leaf) + ":";
    for (const NodeId node : tree.domain(leaf).nodes) text += " " + names[node.index()];
    text += "; ";
  }
  return text + std::to_string(tree.unlabelled_count()) + " unlabelled";
}

TEST(Tree, PutsNodesUnderTheirLabelValueByName) {
  Tree tree({"rack"});
  const std::vector<std::string> names = {"n2", "n1", "n3", "n4"};
  tree.put(NodeId(0), "n2", {{"rack", "r2"}});
  tree.put(NodeId(1), "n1", {{"rack", "r2"}});
  tree.put(NodeId(2), "n3", {{"rack", "r1"}});
  tree.put(NodeId(3), "n4", {{"zone", "z"}});
  EXPECT_EQ(text_of(tree, names), "r1: n3; r2: n1 n2; 1 unlabelled");
}

TEST(Tree, AMovedNodeLeavesNothingBehind) {
  Tree tree({"rack"});
  tree.put(NodeId(0), "n1", {{"rack", "r1"}});
  tree.put(NodeId(0), "n1", {{"rack", "r2"}});
  EXPECT_EQ(text_of(tree, {"n1"}), "r2: n1; 0 unlabelled");
  tree.put(NodeId(0), "n1", {});
  EXPECT_EQ(text_of(tree, {"n1"}), "1 unlabelled");
  tree.remove(NodeId(0));
  EXPECT_EQ(text_of(tree, {"n1"}), "0 unlabelled");
  EXPECT_FALSE(tree.leaf_of(NodeId(0)).valid());
}

TEST(Tree, ARackOfTheSameNameInAnotherBlockIsAnotherDomain) {
  Tree tree({"block", "rack"});
  tree.put(NodeId(0), "n1", {{"block", "b1"}, {"rack", "r1"}});
  tree.put(NodeId(1), "n2", {{"block", "b2"}, {"rack", "r1"}});
  EXPECT_EQ(text_of(tree, {"n1", "n2"}), "b1/r1: n1; b2/r1: n2; 0 unlabelled");
  EXPECT_NE(tree.leaf_of(NodeId(0)), tree.leaf_of(NodeId(1)));
}

TEST(Tree, ANodeWithoutAnInnerLabelBelongsNowhere) {
  Tree tree({"block", "rack"});
  tree.put(NodeId(0), "n1", {{"block", "b1"}});
  EXPECT_EQ(text_of(tree, {"n1"}), "1 unlabelled");
}

}  // namespace
}  // namespace berth::topology
