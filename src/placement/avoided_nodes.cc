#include "placement/avoided_nodes.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace berth::placement {

using model::NodeId;

AvoidedNodes::AvoidedNodes(std::vector<NodeId> nodes) {
  if (!nodes.empty()) nodes_ = std::make_shared<const std::vector<NodeId>>(std::move(nodes));
}

std::span<const NodeId> AvoidedNodes::nodes() const {
  return nodes_ ? std::span<const NodeId>(*nodes_) : std::span<const NodeId>();
}

AvoidedNodes AvoidedNodes::with(const AvoidedNodes& others) const {
  if (empty() || nodes_ == others.nodes_) return others;
  if (others.empty()) return *this;
  std::vector<NodeId> both;
  both.reserve(nodes_->size() + others.nodes_->size());
  std::ranges::set_union(*nodes_, *others.nodes_, std::back_inserter(both));
  return AvoidedNodes(std::move(both));
}

bool operator<(const AvoidedNodes& a, const AvoidedNodes& b) {
  return a.nodes_ != b.nodes_ && std::ranges::lexicographical_compare(a.nodes(), b.nodes());
}

AvoidedNodes avoided_by(const AvoidedByPod& avoided, const std::string& uid) {
  const auto found = avoided.find(uid);
  return found == avoided.end() ? AvoidedNodes() : found->second;
}

}  // namespace berth::placement
