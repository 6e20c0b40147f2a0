#include "placement/index/node_order.h"

#include <algorithm>

#include "base/assert.h"

namespace berth::placement {
namespace {

// Labels of neighbours are so far apart after they were spread that as many halvings fit between them.
constexpr std::uint64_t kGapMin = std::uint64_t{1} << 32;
constexpr std::size_t kFirstWindow = 32;  // nodes on each side that are labelled again, at least
// Beyond one in so many nodes that came or went, one walk over all names is cheaper than as many moves.
constexpr std::size_t kNodesOfAJoin = 256;
// Free slots that are kept in any case.
constexpr std::size_t kFreeSlotsMin = 1024;

}  // namespace

void NodeOrder::catch_up(const model::Cluster& cluster) {
  const model::Changes& changes = cluster.ledger().changes();
  if (node_set_stamp_ == cluster.node_set_stamp()) {
    seen_ = changes.end();
    return;
  }
  changed_.clear();
  const bool known = changes.catch_up(seen_, [&](NodeId node) {
    if ((cluster.node(node).live != nullptr) != is_member(node)) changed_.push_back(node);
  });
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  if (!known || changed_.size() > 1 + by_name_.size() / kNodesOfAJoin) {
    read_all(cluster);
  } else {
    for (const NodeId node : changed_)
      if (is_member(node))
        leave(node);
      else
        join(cluster, node);
    if (is_sparse(by_name_.size())) read_all(cluster);
  }
  node_set_stamp_ = cluster.node_set_stamp();
}

void NodeOrder::read_all(const model::Cluster& cluster) {
  for (const NodeId node : nodes_)
    if (node.valid() && !cluster.node(node).live) free_slot(node);
  if (is_sparse(cluster.live_nodes().size())) {
    ++generation_;
    slots_.clear();
    nodes_.clear();
    labels_.clear();
    free_.clear();
  }
  by_name_.clear();
  for (const auto& [name, node] : cluster.live_nodes()) {
    if (!is_member(node)) take_slot(node);
    by_name_.push_back(node);
  }
  spread_labels(0, by_name_.size(), 0, ~std::uint64_t{0});
}

bool NodeOrder::is_sparse(std::size_t live) const {
  return nodes_.size() > 2 * live + kFreeSlotsMin;
}

void NodeOrder::take_slot(NodeId node) {
  if (node.index() >= slots_.size()) slots_.resize(node.index() + 1, kNoSlot);
  std::uint32_t& slot = slots_[node.index()];
  const bool had_one = slot != kNoSlot && !nodes_[slot].valid();
  if (!had_one) {
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back(node);
      labels_.push_back(0);
      return;
    }
    slot = *free_.begin();
  }
  free_.erase(slot);
  nodes_[slot] = node;
}

void NodeOrder::free_slot(NodeId node) {
  nodes_[slots_[node.index()]] = NodeId::none();
  free_.insert(slots_[node.index()]);
}

void NodeOrder::join(const model::Cluster& cluster, NodeId node) {
  take_slot(node);
  const std::string& name = cluster.node(node).name;
  const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                   [&](NodeId a, const std::string& b) { return cluster.node(a).name < b; });
  const auto position = static_cast<std::size_t>(at - by_name_.begin());
  by_name_.insert(at, node);
  label(position);
}

void NodeOrder::leave(NodeId node) {
  const std::uint64_t label = labels_[slots_[node.index()]];
  const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), label,
                                   [&](NodeId a, std::uint64_t b) { return labels_[slots_[a.index()]] < b; });
  BERTH_ASSERT(at != by_name_.end() && *at == node, "labels are in the order of names");
  by_name_.erase(at);
  free_slot(node);
}

std::uint64_t NodeOrder::label_at(std::size_t position) const {
  return labels_[slots_[by_name_[position].index()]];
}

// Labels the node at `position`, whose neighbours have labels. Where they leave no room, as many neighbours
// as needed are labelled again.
void NodeOrder::label(std::size_t position) {
  for (std::size_t reach = 0;; reach = std::max(kFirstWindow, 2 * reach)) {
    const std::size_t first = position > reach ? position - reach : 0;
    const std::size_t last = std::min(by_name_.size(), position + reach + 1);
    const std::uint64_t low = first == 0 ? 0 : label_at(first - 1);
    const std::uint64_t high = last == by_name_.size() ? ~std::uint64_t{0} : label_at(last);
    const bool all = first == 0 && last == by_name_.size();
    if (reach == 0 ? high - low >= 2 : all || (high - low) / (last - first + 1) >= kGapMin)
      return spread_labels(first, last, low, high);
  }
}

// Labels between `low` and `high`, both exclusive, for the nodes of these positions.
void NodeOrder::spread_labels(std::size_t first, std::size_t last, std::uint64_t low, std::uint64_t high) {
  const std::uint64_t gap = (high - low) / (last - first + 1);
  for (std::size_t i = first; i < last; ++i) labels_[slots_[by_name_[i].index()]] = low += gap;
}

}  // namespace berth::placement
