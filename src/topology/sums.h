// Amounts per node, summed up the domain tree as nodes change: how many pods of one signature a domain could
// take, how full it is.
//
// Owner: the scheduler. Cost: one node change O(levels); no walk over a domain's nodes, ever.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "topology/tree.h"

namespace berth::topology {

// Changes kept for those who sum; who falls further behind recounts everything.
inline constexpr std::size_t kNodeChangesMax = 1 << 16;

// The order in which nodes changed, for readers that catch up when they are asked.
class NodeChanges {
 public:
  void note(NodeId node) {
    log_.push_back(node);
    if (log_.size() > kNodeChangesMax) {
      log_.pop_front();
      ++dropped_;
    }
  }
  std::uint64_t end() const { return dropped_ + log_.size(); }
  std::uint64_t begin() const { return dropped_; }
  NodeId at(std::uint64_t position) const { return log_[position - dropped_]; }

 private:
  std::deque<NodeId> log_;
  std::uint64_t dropped_ = 0;
};

// `Amount` adds and subtracts exactly and is zero when default-made.
template <class Amount>
class DomainSums {
 public:
  // Replaces what `node` counted for, in the domain where it stands in `tree` now.
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

  // Asks `recount(node)` for every node that changed since the last call, or for all of `node_count` ids.
  template <class Recount>
  void catch_up(const Tree& tree, const NodeChanges& changes, std::size_t node_count, Recount recount) {
    if (!counted_ || position_ < changes.begin()) {
      for (std::uint32_t i = 0; i < node_count; ++i) set(tree, NodeId(i), recount(NodeId(i)));
    } else {
      for (std::uint64_t i = position_; i < changes.end(); ++i)
        set(tree, changes.at(i), recount(changes.at(i)));
    }
    counted_ = true;
    position_ = changes.end();
  }

 private:
  struct NodeShare {
    Amount amount{};
    std::size_t depth = 0;
    DomainId path[kLevelsMax + 1] = {};
  };
  std::vector<NodeShare> nodes_;
  std::vector<Amount> sums_;
  std::uint64_t position_ = 0;
  bool counted_ = false;
};

// How many pods of one shape each domain could take.
using FitCounts = DomainSums<std::int64_t>;

}  // namespace berth::topology
