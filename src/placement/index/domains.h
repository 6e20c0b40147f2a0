// The nodes by name, and for each topology key in use: its tree, the use of its domains, and how many pods
// of a group's signature each domain could take.
//
// Owner: the scheduler. Cost: O(levels) for each node that the cluster's change log names since the last
// call; where devices count, for each node that sees a pool that it names. Memory: at most kTopologiesMax
// keys with kFitSignaturesMax signatures of each kind; the least recently used is evicted.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/lru_map.h"
#include "placement/framework.h"
#include "placement/index/device_scopes.h"
#include "placement/index/domain_amounts.h"
#include "placement/index/node_order.h"
#include "placement/refusal/absent_labels.h"
#include "topology/sums.h"

namespace berth::placement {

inline constexpr std::size_t kTopologiesMax = 16;
inline constexpr std::size_t kFitSignaturesMax = 32;
inline constexpr std::size_t kDomainAmountsMax = 64;

class Topology {
 public:
  // `keys`: outermost first, at most topology::kLevelsMax.
  Topology(std::vector<std::string> keys, const model::Cluster& cluster);

  const topology::Tree& tree() const { return tree_; }
  // Reads the current nodes and labels.
  void catch_up(const model::Cluster& cluster);
  DomainUse use(const model::Cluster& cluster, topology::DomainId domain);
  // Up-to-date counts for the signature; `room` counts one node.
  const topology::FitCounts& fit(const std::string& signature, const model::Cluster& cluster,
                                 const std::function<std::int64_t(NodeId)>& room);
  // The same where `room` counts free devices, too. A change of a pool that several nodes may reach counts
  // all nodes.
  const topology::FitCounts& fit_with_devices(const std::string& signature, const model::Cluster& cluster,
                                              const std::function<std::int64_t(NodeId)>& room);

 private:
  struct DeviceFit {
    topology::FitCounts counts;
    std::uint64_t shared_pools_stamp = 0;
  };
  void look(const model::Cluster& cluster, NodeId node);

  topology::Tree tree_;
  std::vector<std::uint64_t> labels_stamps_;  // of the nodes in the tree, by node id; 0: not live
  topology::DomainSums<DomainUse> use_;
  LruMap<topology::FitCounts> fits_{kFitSignaturesMax};
  LruMap<DeviceFit> device_fits_{kFitSignaturesMax};
  model::Changes::Position seen_;  // of the tree, in the change log
};

class DomainIndex {
 public:
  // Up to date.
  const NodeOrder& order(const model::Cluster& cluster) {
    order_.catch_up(cluster);
    return order_;
  }
  // Live nodes by name.
  const std::vector<NodeId>& nodes(const model::Cluster& cluster) { return order(cluster).by_name(); }
  // Up to date. The reference is valid until kTopologiesMax others were asked for. An empty key: the
  // root has all nodes.
  Topology& topology(const std::string& key, const model::Cluster& cluster);
  // The same for nested levels, outermost first.
  Topology& topology(std::span<const std::string> keys, const model::Cluster& cluster) {
    return *kept_topology(keys, cluster);
  }
  // The same, for as long as it is held.
  std::shared_ptr<Topology> kept_topology(std::span<const std::string> keys, const model::Cluster& cluster);
  // Up to date. The reference is valid until kDomainAmountsMax others were asked for.
  const DomainAmounts& amounts(const DomainCount& count, const model::Cluster& cluster);
  // By rule: what all rules of one pod accept.
  std::vector<AmountRange> accepted(std::span<const DomainRule> rules, const model::Cluster& cluster);
  // Up to date.
  DeviceScopes& device_scopes(const model::Cluster& cluster);
  AbsentLabels& absent_labels() { return absent_labels_; }

 private:
  LruMap<std::shared_ptr<Topology>> topologies_{kTopologiesMax};
  LruMap<DomainAmounts> amounts_{kDomainAmountsMax};
  std::uint64_t amounts_made_ = 0;
  DeviceScopes device_scopes_;
  AbsentLabels absent_labels_;
  NodeOrder order_;
};

DomainUse use_of(const model::Cluster& cluster, NodeId node);
// Adds the cpu and memory among the amounts to what is requested.
void add_requested(const model::ResourceAmounts& amounts, DomainUse& use);

}  // namespace berth::placement
