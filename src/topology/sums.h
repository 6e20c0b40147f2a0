// Amounts per node, summed up the domain tree as nodes change: how many pods of one signature fit into a
// domain, or how much cpu is in use there.
//
// Owner: the scheduler. Cost: O(levels) for one changed node, read from the cluster's change log on demand; a
// domain's nodes are never walked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "topology/tree.h"

namespace berth::topology {

// `Amount` adds and subtracts exactly; its default value is zero.
template <class Amount>
class DomainSums {
 public:
  // Replaces the amount of `node`, in its current domain of `tree`.
  void set(const Tree& tree, NodeId node, const Amount& amount) {
    if (node.index() >= nodes_.size()) nodes_.resize(node.index() + 1);
    if (sums_.size() < tree.domain_count()) sums_.resize(tree.domain_count());
    NodeShare& entry = nodes_[node.index()];
    for (std::size_t i = 0; i < entry.depth; ++i) sums_[entry.path[i].index()] -= entry.amount;
    entry.amount = amount;
    entry.depth = 0;
    for (DomainId at = tree.leaf_of(node); at.valid(); at = tree.domain(at).parent) {
      entry.path[entry.depth++] = at;
      sums_[at.index()] += amount;
    }
  }
  Amount sum(DomainId domain) const {
    return domain.index() < sums_.size() ? sums_[domain.index()] : Amount{};
  }
  // Zero for a node without a domain.
  Amount of(NodeId node) const {
    return node.index() < nodes_.size() && nodes_[node.index()].depth > 0 ? nodes_[node.index()].amount
                                                                          : Amount{};
  }

  // Calls `recount(node)` once for every node that changed since the last call, or for all of `node_count`
  // ids.
  template <class Recount>
  void catch_up(const Tree& tree, const model::Changes& changes, std::size_t node_count, Recount recount) {
    const std::vector<NodeId> none;
    catch_up(tree, changes, node_count, [&](model::PoolId) { return &none; }, recount);
  }
  // The same where amounts depend on devices too: `nodes_of(pool)` points to the nodes that see the pool;
  // null: all may.
  template <class NodesOf, class Recount>
  void catch_up(const Tree& tree, const model::Changes& changes, std::size_t node_count, NodesOf nodes_of,
                Recount recount) {
    if (counted_ && is_up_to_date(changes)) return;
    changed_.clear();
    bool everything = !counted_;
    const auto note_pool = [&](model::PoolId pool) {
      if (const std::vector<NodeId>* nodes = nodes_of(pool))
        changed_.insert(changed_.end(), nodes->begin(), nodes->end());
      else
        everything = true;
    };
    if (!everything)
      everything = !changes.visit_since(
                       position_, [this](NodeId node) { changed_.push_back(node); }, note_pool) ||
                   everything;
    position_ = changes.end();
    for (std::uint32_t i = 0; everything && i < node_count; ++i) changed_.push_back(NodeId(i));
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    for (const NodeId node : changed_) set(tree, node, recount(node));
    counted_ = true;
  }

 private:
  bool is_up_to_date(const model::Changes& changes) const {
    const model::Changes::Position end = changes.end();
    return position_.facts == end.facts && position_.trial_begin == end.trial_begin &&
           position_.trial_end == end.trial_end;
  }

  struct NodeShare {
    Amount amount{};
    std::size_t depth = 0;
    DomainId path[kLevelsMax + 1] = {};
  };
  std::vector<NodeShare> nodes_;
  std::vector<Amount> sums_;
  std::vector<NodeId> changed_;        // scratch of catch_up()
  model::Changes::Position position_;  // in the change log
  bool counted_ = false;
};

// How many pods of one signature fit into each domain.
using FitCounts = DomainSums<std::int64_t>;

}  // namespace berth::topology
