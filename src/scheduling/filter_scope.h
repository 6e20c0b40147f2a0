// What a filter or a score reads of other nodes when it judges one: which kept answers a change renews.
//
// Nothing added: of the node alone. A change of a node or of the pods on it renews the answers on that node.
// A domain: also of the nodes that share the node's value of a label. A change renews the answers on all
// nodes of the domain, and of the one that a node left. A node without the label stands alone.
// The cluster: of any node. Every answer is renewed when the digest of what is read is another one.
// A filter may add several: spreading reads the pods of a domain, and as digest the least of all domains.
// Changes are those of model::Changes: what a filter reads beside them needs a note there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"

namespace berth::scheduling {

using model::NodeId;

class FilterScope {
 public:
  void clear();
  // The same keys for all pods that are signed alike.
  void add_domain(std::string_view topology_key);
  // In the order of the plugins; the count of digests is the same for all pods that are signed alike.
  void add_cluster(std::uint64_t digest) { digests_.push_back(digest); }
  // Any change of the cluster is another digest.
  void add_cluster(const model::Cluster& cluster) { add_cluster(cluster.ledger().changes().end()); }

  bool is_node_alone() const { return topology_keys_.empty() && digests_.empty(); }
  const std::vector<std::string>& topology_keys() const { return topology_keys_; }
  const std::vector<std::uint64_t>& digests() const { return digests_; }

 private:
  std::vector<std::string> topology_keys_;  // each once
  std::vector<std::uint64_t> digests_;
};

// Which nodes share a value of one topology key. Cost: 4 bytes a node and the values; widen() one pass over
// the nodes.
class DomainMembers {
 public:
  // `nodes` by rank; they stay the same while it lives.
  DomainMembers(std::string key, const model::Cluster& cluster, std::span<const NodeId> nodes);
  // Appends the nodes that share a domain with one that changed, before its change or after it. `ranks`: of
  // those that changed.
  void widen(const model::Cluster& cluster, std::span<const NodeId> nodes,
             std::span<const std::uint32_t> ranks, std::vector<NodeId>& widened);
  // Values that are remembered, also of nodes that have another one by now: at most two a node.
  std::size_t values() const { return values_.size(); }

 private:
  using ValueId = DenseId<struct DomainValueTag>;
  ValueId value_of(const model::Cluster& cluster, NodeId node);
  void read_all(const model::Cluster& cluster, std::span<const NodeId> nodes);

  std::string key_;
  model::Names<ValueId> values_;
  std::vector<ValueId> value_by_rank_;  // none: the node has no such label
  std::vector<bool> touched_;           // by ValueId
};

}  // namespace berth::scheduling
