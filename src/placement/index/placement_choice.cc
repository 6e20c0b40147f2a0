#include "placement/index/placement_choice.h"

#include <algorithm>

namespace berth::placement {
namespace {

// The first of equal nodes is the one with the lower position.
std::size_t label_of_position(std::size_t position) {
  return position;
}

}  // namespace

bool PlacementChoice::is_kept(CycleState& state, std::span<const NodeId> avoid) {
  if (nodes_.size() < kNodesToKeepMin || !avoid.empty()) return false;
  if (pods_.has_rules(state) || pods_.has_preferences(state)) return false;
  std::vector<PodCycle::WeightedComparison> comparisons;
  pods_.add_comparisons(state, comparisons);
  scope_.clear();
  pods_.add_scope(state, scope_);
  signature_.clear();
  if (!comparisons.empty() || !scope_.is_node_alone() || !pods_.sign(state, signature_)) return false;
  return kinds_.contains(signature_.bytes()) || kinds_.size() < kKindsKeptMax;
}

void PlacementChoice::start(Kind& kind, CycleState& state) {
  if (positions_.empty()) {
    const auto none = static_cast<std::uint32_t>(nodes_.size());
    positions_.assign(state.context->cluster.nodes().size(), none);
    for (std::uint32_t i = 0; i < none; ++i) positions_[nodes_[i].index()] = i;
  }
  pods_.judge(state, nodes_);
  std::vector<std::int64_t> scores(nodes_.size(), TournamentTree::kOut);
  for (std::size_t i = 0; i < state.candidates.size(); ++i)
    scores[position(state.candidates[i])] = state.scores[i];
  kind.scores.start(scores, label_of_position);
}

// False: not known which nodes changed.
bool PlacementChoice::bring_up_to_date(Kind& kind, CycleState& state) {
  const model::Cluster& cluster = state.context->cluster;
  changed_.clear();
  if (kind.shared_pools_stamp != cluster.shared_pools_stamp() ||
      cluster.changed_since(kind.seen, changed_) != model::Cluster::ChangeScope::Nodes)
    return false;
  std::erase_if(changed_, [&](NodeId node) { return position(node) == nodes_.size(); });
  std::ranges::sort(changed_, {}, [&](NodeId node) { return position(node); });
  changed_.erase(std::ranges::unique(changed_).begin(), changed_.end());
  if (changed_.empty()) return true;
  for (const NodeId node : changed_) kind.scores.set(position(node), TournamentTree::kOut, label_of_position);
  pods_.judge(state, changed_);
  for (std::size_t i = 0; i < state.candidates.size(); ++i)
    kind.scores.set(position(state.candidates[i]), state.scores[i], label_of_position);
  return true;
}

NodeId PlacementChoice::best_kept(CycleState& state) {
  const auto [at, is_new] = kinds_.try_emplace(signature_.bytes());
  Kind& kind = at->second;
  if (is_new || !bring_up_to_date(kind, state)) start(kind, state);
  kind.seen = state.context->cluster.ledger().changes().end();
  kind.shared_pools_stamp = state.context->cluster.shared_pools_stamp();
  while (!kind.scores.empty() && state.diagnosis.error().empty()) {
    const std::size_t best = kind.scores.best();
    state.diagnosis.clear();
    if (pods_.accepts(state, nodes_[best])) return nodes_[best];
    kind.scores.set(best, TournamentTree::kOut, label_of_position);
  }
  return NodeId::none();
}

// Where no node takes the pod, all are judged for the refusals.
NodeId PlacementChoice::choose(CycleState& state, std::span<const NodeId> avoid) {
  if (!pods_.prepare(state)) return NodeId::none();
  if (is_kept(state, avoid)) {
    if (const NodeId node = best_kept(state); node.valid()) return node;
    state.diagnosis.clear();
  }
  return pods_.choose(state, nodes_, avoid);
}

}  // namespace berth::placement
