// The live nodes by name. Each has a slot that it keeps while it lives: a position in the columns of
// everybody who keeps something for each node.
//
// Slots are in no order, and the slot of a node that left is used again; labels compare two slots by the
// names of their nodes. A relabelling changes no comparison, so what others derived from one stays right.
// Owner: the scheduler, one thread. Cost: a node that joins or leaves O(log n), and a move of 4 bytes for
// every node behind it. Memory: 20 bytes a node. Source of the labels: order maintenance (Dietz, Sleator
// 1987; Bender and others 2002).
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "model/cluster.h"

namespace berth::placement {

using model::NodeId;

class NodeOrder {
 public:
  static constexpr std::uint32_t kNoSlot = 0xffffffffu;

  // Reads which nodes are live.
  void catch_up(const model::Cluster& cluster);

  const std::vector<NodeId>& by_name() const { return by_name_; }
  // Of a node that left: the slot that it had, which may be another node's now. The last node of a slot that
  // has changed hands always names it. kNoSlot: the node was never live.
  std::uint32_t slot(NodeId node) const {
    return node.index() < slots_.size() ? slots_[node.index()] : kNoSlot;
  }
  // None: the slot is free.
  NodeId node(std::uint32_t slot) const { return nodes_[slot]; }
  // One above the highest slot.
  std::size_t slot_count() const { return nodes_.size(); }
  // By slot: of two live nodes the one with the lower label is the first by name.
  std::span<const std::uint64_t> labels() const { return labels_; }
  // For TournamentTree.
  auto label_of() const {
    return [labels = labels_.data()](std::size_t slot) { return labels[slot]; };
  }
  bool before(std::uint32_t a, std::uint32_t b) const { return labels_[a] < labels_[b]; }
  // Changes when every node was given another slot, because most slots had become free.
  std::uint64_t generation() const { return generation_; }

 private:
  bool is_member(NodeId node) const { return slot(node) != kNoSlot && nodes_[slots_[node.index()]] == node; }
  bool is_sparse(std::size_t live) const;
  void read_all(const model::Cluster& cluster);
  void join(const model::Cluster& cluster, NodeId node);
  void leave(NodeId node);
  void take_slot(NodeId node);
  void free_slot(NodeId node);
  void label(std::size_t position);
  void spread_labels(std::size_t first, std::size_t last, std::uint64_t low, std::uint64_t high);
  std::uint64_t label_at(std::size_t position) const;

  std::vector<NodeId> by_name_;
  std::vector<std::uint32_t> slots_;  // by node id
  std::vector<NodeId> nodes_;         // by slot
  std::vector<std::uint64_t> labels_;
  std::set<std::uint32_t> free_;
  std::vector<NodeId> changed_;  // scratch of catch_up()
  std::uint64_t generation_ = 0;
  std::uint64_t node_set_stamp_ = 0;  // of the cluster, when it was read
  model::Changes::Position seen_;     // in its change log
};

}  // namespace berth::placement
