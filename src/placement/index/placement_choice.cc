#include "placement/index/placement_choice.h"

#include <algorithm>

namespace berth::placement {
namespace {

// The first of equal nodes is the one with the lower position.
std::size_t label_of_position(std::size_t position) {
  return position;
}

}  // namespace

// The verdict on a node depends on this node alone, and is that of all pods with this signature.
bool PlacementChoice::is_signed_alone(CycleState& state) {
  if (pods_.has_rules(state) || pods_.tries_all(state)) return false;
  std::vector<PodCycle::WeightedComparison> comparisons;
  pods_.add_comparisons(state, comparisons);
  scope_.clear();
  pods_.add_scope(state, scope_);
  signature_.clear();
  return comparisons.empty() && scope_.is_node_alone() && pods_.sign(state, signature_);
}

void PlacementChoice::start(Kind& kind, CycleState& state) {
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
  std::erase_if(changed_, [&](NodeId node) { return !positions_.find(node); });
  std::ranges::sort(changed_, {}, [&](NodeId node) { return position(node); });
  changed_.erase(std::ranges::unique(changed_).begin(), changed_.end());
  if (changed_.empty()) return true;
  for (const NodeId node : changed_) kind.scores.set(position(node), TournamentTree::kOut, label_of_position);
  pods_.judge(state, changed_);
  for (std::size_t i = 0; i < state.candidates.size(); ++i)
    kind.scores.set(position(state.candidates[i]), state.scores[i], label_of_position);
  return true;
}

NodeId PlacementChoice::best_kept(Kind& kind, CycleState& state) {
  if (list_ == 0 || list_ != positions_.latest()) list_ = positions_.start(nodes_);
  if (kind.is_new || !bring_up_to_date(kind, state)) start(kind, state);
  kind.is_new = false;
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

NodeId PlacementChoice::choose(CycleState& state, std::span<const NodeId> avoid, bool is_repeated) {
  latest_ = nullptr;
  may_repeat_ = false;
  if (!pods_.prepare(state)) return NodeId::none();
  const bool keeps = nodes_.size() >= kNodesToKeepMin;
  if ((!keeps && !is_repeated) || !avoid.empty() || !is_signed_alone(state))
    return pods_.choose(state, nodes_, avoid);
  const bool has_room = kinds_.contains(signature_.bytes()) || kinds_.size() < kKindsKeptMax;
  if (keeps && has_room) latest_ = &kinds_[signature_.bytes()];
  return choose_again(state);
}

// Where no node takes the pod, all are judged for the refusals.
NodeId PlacementChoice::choose_again(CycleState& state) {
  NodeId node = latest_ ? best_kept(*latest_, state) : NodeId::none();
  if (!node.valid()) {
    state.diagnosis.clear();
    node = pods_.choose_alone(state, nodes_);
  }
  may_repeat_ = node.valid();
  return node;
}

}  // namespace berth::placement
