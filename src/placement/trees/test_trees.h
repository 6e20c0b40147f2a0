// A tree of groups on nodes in racks and blocks, for tests that compare its decision with trying every
// assignment.
//
// Amounts are whole cpus; a node has no other limit that matters.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "placement/decision_core.h"
#include "placement/plugin_bench.h"

namespace berth::placement {

struct TreeSpec {
  std::string key;  // rack, block or empty
  int minimum = 1;
  std::vector<int> pods = {};  // of a PodGroup: the cpus of each
  std::vector<TreeSpec> children = {};
  enum class Claims : std::uint8_t { Own, OwnOfOneModel, Shared };
  int devices = 0;  // of each of its pods, by one claim; a shared claim is of all its pods
  Claims claims = Claims::Own;
};

struct TreeWorld {
  struct Node {
    int block = 0, rack = 0, cpu = 1;  // racks are numbered over all blocks
    std::array<int, 2> devices = {};   // of each model
  };
  // A pod that runs, named o0, o1, … The tree has priority 0.
  struct Occupant {
    int node = 0, cpu = 1, priority = -1;
  };
  std::vector<Node> nodes;
  TreeSpec tree;
  std::vector<Occupant> occupants = {};
  bool is_spread = false;  // by a policy about the root with `Balanced`
  std::string text() const;
};
// Eight nodes, and a tree of at most twelve pods.
TreeWorld random_world(std::uint64_t seed);
// The same, with devices that some groups ask for.
TreeWorld random_device_world(std::uint64_t seed);

// Steps of one judgement; beyond, it is unknown.
inline constexpr std::size_t kTreeJudgeStepsMax = 300'000;

// Whether the minima of the tree fit next to the occupants, by trying every node for every pod and every
// choice of children; none: too many to try.
std::optional<bool> fits_by_trying_all(const TreeWorld& world);

class TreeBench {
 public:
  explicit TreeBench(const TreeWorld& world, const DecisionOptions& options = {});
  // Groups are named by their place: g, g.0, g.0.1; pods g.0.1-0.
  TreeOutcome decide(const Preempting& preempting = {});
  // Groups with their minimum: "g.0: n1 n1; g.1: n2 -".
  std::string nodes_of(const TreeOutcome& outcome) const;
  // What is wrong with the places; empty: nothing.
  std::string complaint_about(const TreeOutcome& outcome) const;

  const TreeInput& input() const { return input_; }

 private:
  void put(const TreeSpec& spec, const std::string& name);
  void add(const TreeSpec& spec, const std::string& name, std::optional<std::size_t> parent);

  const TreeWorld world_;
  PluginBench bench_;
  std::vector<std::unique_ptr<api::CompositePodGroup>> composites_;
  std::vector<std::unique_ptr<api::PodGroup>> groups_;
  std::vector<const TreeSpec*> specs_;  // by tree node
  TreeInput input_;
  std::unique_ptr<DecisionCore> core_;
};

}  // namespace berth::placement
