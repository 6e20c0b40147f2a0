// The nodes by name, and for each topology key in use: its tree, how full its domains are, how many pods of a
// group's signature they could take.
//
// Owner: the scheduler. Cost: a node change is noted in O(1) per key and summed up when a group asks; memory
// bounded by kTopologiesMax keys and kFitSignaturesMax signatures each, the least recently used make room.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

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
  topology::Tree& tree() { return tree_; }
  DomainUse use(const model::Cluster& cluster, const topology::NodeChanges& changes,
                topology::DomainId domain);
  // Counts for the signature `signature`, brought up to date; `room` counts one node.
  const topology::FitCounts& fit(const std::string& signature, const model::Cluster& cluster,
                                 const topology::NodeChanges& changes,
                                 const std::function<std::int64_t(NodeId)>& room);

 private:
  struct SignatureFit {
    topology::FitCounts counts;
    std::uint64_t used_at = 0;
  };
  topology::Tree tree_;
  topology::DomainSums<DomainUse> use_;
  std::map<std::string, SignatureFit> fits_;
  std::uint64_t uses_ = 0;
};

class DomainIndex {
 public:
  // After every delta of a node, and for every node whose pods changed.
  void node_changed(const model::Cluster& cluster, NodeId node);
  void use_changed(NodeId node) { changes_.note(node); }

  // Live nodes by name.
  const std::vector<NodeId>& nodes(const model::Cluster& cluster);
  // The place of a node in nodes(), as of its latest call; kNoRank for one that is not live.
  std::uint32_t rank(NodeId node) const {
    return node.index() < ranks_.size() ? ranks_[node.index()] : kNoRank;
  }
  Topology& topology(const std::string& key, const model::Cluster& cluster);
  const topology::NodeChanges& changes() const { return changes_; }

 private:
  struct CachedTopology {
    Topology topology;
    std::uint64_t used_at = 0;
  };
  std::map<std::string, CachedTopology> topologies_;
  topology::NodeChanges changes_;
  std::vector<NodeId> nodes_;
  std::vector<std::uint32_t> ranks_;
  std::uint64_t nodes_stamp_ = ~std::uint64_t{0};  // the cluster's node_set_stamp of nodes_ and ranks_
  std::uint64_t uses_ = 0;
};

DomainUse use_of(const model::Cluster& cluster, NodeId node);

}  // namespace berth::scheduling
