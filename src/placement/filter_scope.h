// What a filter or a score reads of other nodes when it judges one; it decides which cached verdicts a
// change invalidates.
//
// Nothing added: the node alone. A change of a node or of its pods invalidates the verdicts on that node.
// A domain: also the nodes that share the node's value of a label. A change invalidates the verdicts on all
// nodes of the domain, and of the domain that a node left. A node without the label is in no domain.
// The cluster: any node. Every verdict is invalid when the digest of what is read changes.
// A filter may add several: spreading reads the pods of a domain, and as digest the minimum over all
// domains.
// Changes are those in model::Changes; if a filter reads anything else, its changes must be added there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "placement/index/node_order.h"

namespace berth::placement {

class FilterScope {
 public:
  void clear();
  // Pods with equal signatures must add the same keys.
  void add_domain(std::string_view topology_key);
  // In the order of the plugins. Pods with equal signatures must add the same number of digests.
  void add_cluster(std::uint64_t digest) { digests_.push_back(digest); }
  // The digest changes with any change of the cluster.
  void add_cluster(const model::Cluster& cluster) { add_cluster(cluster.ledger().changes().count()); }

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
  DomainMembers(std::string key, const model::Cluster& cluster, const NodeOrder& order);
  // Appends the slots of the nodes that share a domain with a changed node, before or after its change.
  // `slots`: of the nodes that changed, joined or left.
  void widen(const model::Cluster& cluster, const NodeOrder& order, std::span<const std::uint32_t> slots,
             std::vector<std::uint32_t>& widened);
  // Values remembered, former ones included: at most two a node.
  std::size_t values() const { return values_.size(); }

 private:
  using ValueId = DenseId<struct DomainValueTag>;
  ValueId value_of(const model::Cluster& cluster, NodeId node);
  void read_all(const model::Cluster& cluster, const NodeOrder& order);

  std::string key_;
  model::Names<ValueId> values_;
  std::vector<ValueId> value_by_slot_;  // none: no node, or it has no such label
  std::vector<bool> touched_;           // by ValueId
};

}  // namespace berth::placement
