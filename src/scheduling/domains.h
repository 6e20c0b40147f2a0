// The nodes by name, and for each topology key in use: its tree, how full its domains are, how many pods of a
// group's signature they could take.
//
// Owner: the scheduler. Cost: nothing until a group asks; then O(levels) for each node of the cluster's
// change log that is new since the last time. Memory bounded by kTopologiesMax keys and kFitSignaturesMax
// signatures each, the least recently used make room.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/lru_map.h"
#include "scheduling/framework.h"
#include "topology/sums.h"

namespace berth::scheduling {

inline constexpr std::size_t kTopologiesMax = 16;
inline constexpr std::size_t kFitSignaturesMax = 32;
inline constexpr std::uint32_t kNoRank = 0xffffffffu;

class Topology {
 public:
  Topology(const std::string& key, const model::Cluster& cluster);

  const topology::Tree& tree() const { return tree_; }
  // Nodes and labels as they are now.
  void catch_up(const model::Cluster& cluster);
  DomainUse use(const model::Cluster& cluster, topology::DomainId domain);
  // Counts for the signature `signature`, brought up to date; `room` counts one node.
  const topology::FitCounts& fit(const std::string& signature, const model::Cluster& cluster,
                                 const std::function<std::int64_t(NodeId)>& room);

 private:
  topology::Tree tree_;
  topology::DomainSums<DomainUse> use_;
  LruMap<topology::FitCounts> fits_{kFitSignaturesMax};
  std::uint64_t seen_ = 0;  // of the change log, by the tree
};

class DomainIndex {
 public:
  // Live nodes by name.
  const std::vector<NodeId>& nodes(const model::Cluster& cluster);
  // The place of a node in nodes(), as of its latest call; kNoRank for one that is not live.
  std::uint32_t rank(NodeId node) const {
    return node.index() < ranks_.size() ? ranks_[node.index()] : kNoRank;
  }
  // Brought up to date. Holds until the next call.
  Topology& topology(const std::string& key, const model::Cluster& cluster);

 private:
  LruMap<Topology> topologies_{kTopologiesMax};
  std::vector<NodeId> nodes_;
  std::vector<std::uint32_t> ranks_;
  std::uint64_t nodes_stamp_ = ~std::uint64_t{0};  // the cluster's node_set_stamp of nodes_ and ranks_
};

DomainUse use_of(const model::Cluster& cluster, NodeId node);

}  // namespace berth::scheduling
