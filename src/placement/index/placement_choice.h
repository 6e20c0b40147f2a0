// Chooses among the nodes of one placement for members that are alike, without judging all nodes for each.
// The scores of the nodes are kept per pod signature, and only changed nodes are judged again.
//
// Kept for pods whose verdict on a node depends on nothing but this node: without rules about domains,
// comparisons of nodes and preferences of lazy filters. The answer equals that of PodCycle::choose. Owner:
// one evaluation of a placement, on one thread, in one transaction. Cost: the first member of a kind a pass
// over the nodes, the others O(changed nodes · log n). Memory: some 24 bytes a node and kind, at most
// kKindsKeptMax kinds.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "placement/index/tournament_tree.h"
#include "placement/pod_cycle.h"

namespace berth::placement {

// Signatures; pods of others are judged on all nodes.
inline constexpr std::size_t kKindsKeptMax = 8;
// Of fewer nodes all are judged.
inline constexpr std::size_t kNodesToKeepMin = 16;

class PlacementChoice {
 public:
  // `nodes`: by name. Both outlive it.
  PlacementChoice(const PodCycle& pods, std::span<const NodeId> nodes) : pods_(pods), nodes_(nodes) {}

  bool is_among(std::span<const NodeId> nodes) const {
    return nodes.data() == nodes_.data() && nodes.size() == nodes_.size();
  }
  // After PodCycle::begin(): the best of the nodes; none: `state` has the refusals of all.
  NodeId choose(CycleState& state, std::span<const NodeId> avoid);

 private:
  struct Kind {
    TournamentTree scores;  // by position in nodes_
    model::Changes::Position seen;
    std::uint64_t shared_pools_stamp = 0;
  };
  bool is_kept(CycleState& state, std::span<const NodeId> avoid);
  NodeId best_kept(CycleState& state);
  bool bring_up_to_date(Kind& kind, CycleState& state);
  void start(Kind& kind, CycleState& state);
  std::size_t position(NodeId node) const { return positions_[node.index()]; }

  const PodCycle& pods_;
  const std::span<const NodeId> nodes_;
  std::vector<std::uint32_t> positions_;  // by node; of the nodes of others the number of nodes_
  std::map<std::string, Kind> kinds_;     // by signature; only looked up
  PodSignature signature_;
  FilterScope scope_;
  std::vector<NodeId> changed_;
};

}  // namespace berth::placement
