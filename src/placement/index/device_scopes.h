// Which nodes see the same devices: those of a fabric, of an NVLink domain, of a multi-host partition.
//
// Owner: the scheduler, one thread. A scope is what a slice that is not tied to one node, or a device of it,
// names by a node selector; devices for all nodes have none. Cost of catch_up: O(scopes) for each node of the
// change log whose labels changed, O(nodes) for each new selector. Memory: one bit per scope and node, at
// most kDeviceScopesMax scopes. Source: KEP-4381 (ResourceSlice.spec.nodeSelector, devices[].nodeSelector).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/cluster.h"

namespace berth::placement {

// Slices and devices with further scopes are left out; truncated() says so.
inline constexpr std::size_t kDeviceScopesMax = 1024;

// A set of nodes by id.
class NodeSet {
 public:
  void put(model::NodeId node, bool member);
  bool contains(model::NodeId node) const {
    const std::size_t word = node.index() / kBits;
    return word < words_.size() && (words_[word] >> node.index() % kBits & 1) != 0;
  }
  bool contains_all(const NodeSet& other) const;
  NodeSet common_with(const NodeSet& other) const;
  std::size_t count() const;
  bool empty() const { return words_.empty(); }
  friend auto operator<=>(const NodeSet&, const NodeSet&) = default;

 private:
  static constexpr std::size_t kBits = 64;
  void trim();

  std::vector<std::uint64_t> words_;  // the last one is not 0
};

class DeviceScopes {
 public:
  // Devices of one slice that have one scope.
  struct Offer {
    std::size_t scope = 0;
    std::vector<model::DeviceId> devices;
  };

  // Reads the current nodes and slices.
  void catch_up(const model::Cluster& cluster);
  // In the order of drivers, pools, slices and devices. Some may be empty.
  const std::vector<NodeSet>& scopes() const { return scopes_; }
  const std::vector<Offer>& offers() const { return offers_; }
  // The distinct sets of nodes that see devices of one scope, or, with `several`, devices of any number of
  // scopes at once: at most kDeviceScopesMax, larger ones first.
  const std::vector<NodeSet>& node_sets(bool several);
  bool truncated() const { return truncated_; }

 private:
  void read_slices(const model::Cluster& cluster);
  void read_slice(const model::SliceRow& slice);
  void add_device(const api::NodeSelector& selector, model::DeviceId device, std::size_t first_offer);
  void fill(std::size_t scope, const model::Cluster& cluster);
  void read_nodes(const model::Cluster& cluster);
  void read_node(const model::Cluster& cluster, model::NodeId node);

  std::uint64_t pools_stamp_ = ~std::uint64_t{0};
  model::Changes::Position seen_;             // in the change log
  std::vector<std::uint64_t> labels_stamps_;  // by node id; 0: not live
  std::map<std::string, std::size_t> known_;  // scope by the selector's bytes
  std::vector<api::NodeSelector> selectors_;  // by scope
  std::vector<NodeSet> scopes_;
  std::vector<Offer> offers_;
  std::vector<NodeSet> single_, common_;  // node_sets(), empty until asked for
  bool truncated_ = false;
};

}  // namespace berth::placement
