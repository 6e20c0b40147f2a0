// The judge of the incremental sums: a recount of every domain after any sequence of changes.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "topology/sums.h"

namespace berth::topology {
namespace {

constexpr std::uint32_t kNodes = 12;

// The state of a node.
struct NodeState {
  bool there = false;
  std::string block, rack;  // empty: no label
  std::int64_t room = 0;
};

class Model {
 public:
  Model() : tree({"block", "rack"}), nodes(kNodes) {}

  void change(std::uint32_t index, const NodeState& state) {
    nodes[index] = state;
    if (state.there) {
      api::StringMap labels;
      if (!state.block.empty()) labels["block"] = state.block;
      if (!state.rack.empty()) labels["rack"] = state.rack;
      tree.put(NodeId(index), "n" + std::to_string(index), labels);
    } else {
      tree.remove(NodeId(index));
    }
    changes.note(NodeId(index));
  }

  void catch_up() {
    counts.catch_up(tree, changes, kNodes, [this](NodeId node) {
      return nodes[node.index()].there ? nodes[node.index()].room : std::int64_t{0};
    });
  }

  std::map<std::string, std::int64_t> recounted() const {
    std::map<std::string, std::int64_t> sums;
    for (const NodeState& node : nodes) {
      if (!node.there || node.block.empty() || node.rack.empty()) continue;
      sums[node.block + "/" + node.rack] += node.room;
      sums[node.block] += node.room;
      sums[""] += node.room;
    }
    return sums;
  }

  std::map<std::string, std::int64_t> counted() const {
    std::map<std::string, std::int64_t> sums;
    for (const DomainId leaf : tree.leaves()) {
      sums[tree.path_of(leaf)] = counts.sum(leaf);
      sums[tree.path_of(tree.domain(leaf).parent)] = counts.sum(tree.domain(leaf).parent);
      sums[""] = counts.sum(Tree::root());
    }
    return sums;
  }

  Tree tree;
  std::vector<NodeState> nodes;
  model::Changes changes;
  FitCounts counts;
};

TEST(FitJudge, SumsEqualARecountAfterAnyChanges) {
  EXPECT_TRUE(rc::check("sums equal a recount", [] {
    Model model;
    const int steps = *rc::gen::inRange(1, 60);
    for (int i = 0; i < steps; ++i) {
      NodeState state;
      state.there = *rc::gen::inRange(0, 5) != 0;
      state.block = *rc::gen::elementOf(std::vector<std::string>{"", "b1", "b2"});
      state.rack = *rc::gen::elementOf(std::vector<std::string>{"", "r1", "r2", "r3"});
      state.room = *rc::gen::inRange<std::int64_t>(0, 9);
      model.change(*rc::gen::inRange<std::uint32_t>(0, kNodes), state);
      // Readers may come after any change.
      if (*rc::gen::inRange(0, 3) == 0) {
        model.catch_up();
        RC_ASSERT(model.counted() == model.recounted());
      }
    }
    model.catch_up();
    RC_ASSERT(model.counted() == model.recounted());
  }));
}

TEST(FitJudge, AReaderThatFellBehindRecounts) {
  Model model;
  model.change(0, {true, "b1", "r1", 3});
  model.catch_up();
  model.change(1, {true, "b1", "r1", 4});
  for (std::size_t i = 0; i < model::kChangesMax; ++i) model.changes.note(NodeId(2));
  model.catch_up();
  EXPECT_EQ(model.counts.sum(Tree::root()), 7);
}

}  // namespace
}  // namespace berth::topology
