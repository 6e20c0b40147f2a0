// Chooses among the nodes of one placement for members that are alike, without judging all nodes for each.
// The scores of the nodes are kept per pod signature, and only changed nodes are judged again.
//
// Kept for pods whose verdict on a node depends on nothing but this node: without rules about domains,
// comparisons of nodes and preferences of lazy filters. The answer equals that of PodCycle::choose. Owner:
// one evaluation of a placement, on one thread, in one transaction. Cost: the first member of a kind a pass
// over the nodes, the others O(changed nodes · log n). A member that repeats the one before it needs neither
// prefilters nor a signature. Memory: some 24 bytes a node and kind, at most kKindsKeptMax kinds.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "placement/index/node_positions.h"
#include "placement/index/tournament_tree.h"
#include "placement/pod_cycle.h"

namespace berth::placement {

// Signatures; pods of others are judged on all nodes.
inline constexpr std::size_t kKindsKeptMax = 8;
// Of fewer nodes all are judged.
inline constexpr std::size_t kNodesToKeepMin = 16;

class PlacementChoice {
 public:
  // `nodes`: by name. All outlive it.
  PlacementChoice(const PodCycle& pods, NodePositions& positions, std::span<const NodeId> nodes)
      : pods_(pods), positions_(positions), nodes_(nodes) {}

  bool is_among(std::span<const NodeId> nodes) const {
    return nodes.data() == nodes_.data() && nodes.size() == nodes_.size();
  }
  // After PodCycle::begin(): the best of the nodes; none: `state` has the refusals of all. `is_repeated`: the
  // next member repeats this one.
  NodeId choose(CycleState& state, std::span<const NodeId> avoid, bool is_repeated = false);
  // The verdict on a node depended on this node alone for the latest pod, which choose() found a node for:
  // one that repeats it may be chosen for by choose_again().
  bool may_repeat() const { return may_repeat_; }
  // After PodCycle::repeat(), with nothing to avoid.
  NodeId choose_again(CycleState& state);

 private:
  struct Kind {
    bool is_new = true;     // no node was judged
    TournamentTree scores;  // by position in nodes_
    model::Changes::Position seen;
    std::uint64_t shared_pools_stamp = 0;
  };
  bool is_signed_alone(CycleState& state);
  NodeId best_kept(Kind& kind, CycleState& state);
  bool bring_up_to_date(Kind& kind, CycleState& state);
  void start(Kind& kind, CycleState& state);
  // Of a node in the list.
  std::size_t position(NodeId node) const { return *positions_.find(node); }

  const PodCycle& pods_;
  NodePositions& positions_;
  const std::span<const NodeId> nodes_;
  NodePositions::List list_ = 0;       // of nodes_
  std::map<std::string, Kind> kinds_;  // by signature; only looked up
  Kind* latest_ = nullptr;             // of the latest pod; null: it is not kept
  bool may_repeat_ = false;
  PodSignature signature_;
  FilterScope scope_;
  std::vector<NodeId> changed_;
};

}  // namespace berth::placement
