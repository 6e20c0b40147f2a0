// A group with a wish on nodes in racks and blocks, for tests that compare its decision with trying every
// assignment.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "placement/decision_core.h"
#include "placement/plugin_bench.h"
#include "placement/trees/tree_input.h"

namespace berth::placement {

struct WishNode {
  std::string block, rack;  // empty: no label
  int cpu = 1;
  std::vector<int> rails = {};  // of its devices, one for each
  int nics = 0;                 // devices of another driver
};

// Of a tree: the first pods that no group before has.
struct WishGroup {
  int pods = 1, minimum = 1;
  std::string key = {};
};

struct WishWorld {
  std::vector<WishNode> nodes;
  std::vector<int> pods;            // waiting: the cpus of each
  std::vector<std::size_t> placed;  // nodes of members with a place; each takes one cpu
  std::string recorded = {};        // the domain of each of these; empty: none
  int minimum = 0;                  // 0: all of them
  std::string key;                  // the group's own
  GroupWish wish;
  int devices = 0;                      // that the claim of each pod asks for
  bool one_rail = false;                // they are all of one rail
  std::vector<std::string> names = {};  // of the waiting pods; empty: g-0, g-1, …
  std::vector<WishGroup> groups = {};   // not empty: a tree, whose root has the key and the wish
  int groups_min = 0;                   // of the root; 0: all of them
};

// Levels block and rack.
GroupWish wish_for(std::vector<std::size_t> preferred, std::optional<std::size_t> required = std::nullopt);
inline constexpr std::size_t kBlockLevel = 0, kRackLevel = 1, kHostLevel = 2;

class WishBench {
 public:
  explicit WishBench(const WishWorld& world);
  GroupOutcome decide();
  // Of a tree: the outcome of its root, with the members of all its groups.
  GroupOutcome decide_tree();
  // Members by node: "n0: 2, n3: 1"; those without a place under "-".
  std::string nodes_of(const GroupOutcome& outcome) const;
  // "rack: b0/r0 4, b0/r1 2" with the level that was reached.
  static std::string wish_of(const GroupOutcome& outcome);
  const GroupInput& input() const { return input_; }
  const model::Cluster& cluster() const { return bench_.cluster; }

 private:
  void put_node(std::size_t at, const WishNode& node);
  void put_slice(const std::string& node, const std::string& kind, const std::vector<int>& rails);
  void put_pod(const std::string& name, const std::string& group, int cpu, const std::string& node);
  void put_waiting(std::size_t pod, const std::string& group, GroupInput& input);
  void add_groups();

  const WishWorld world_;
  PluginBench bench_;
  api::PodGroup group_;
  GroupInput input_;
  api::CompositePodGroup root_;
  std::vector<std::unique_ptr<api::PodGroup>> groups_;
  TreeInput tree_;
  std::unique_ptr<DecisionCore> core_;
};

}  // namespace berth::placement
