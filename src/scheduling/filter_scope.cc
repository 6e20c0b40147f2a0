#include "scheduling/filter_scope.h"

#include <algorithm>

namespace berth::scheduling {

void FilterScope::clear() {
  topology_keys_.clear();
  digests_.clear();
}

void FilterScope::add_domain(std::string_view topology_key) {
  if (std::find(topology_keys_.begin(), topology_keys_.end(), topology_key) == topology_keys_.end())
    topology_keys_.emplace_back(topology_key);
}

DomainMembers::DomainMembers(std::string key, const model::Cluster& cluster, std::span<const NodeId> nodes)
    : key_(std::move(key)) {
  read_all(cluster, nodes);
}

void DomainMembers::read_all(const model::Cluster& cluster, std::span<const NodeId> nodes) {
  values_ = {};
  value_by_rank_.clear();
  value_by_rank_.reserve(nodes.size());
  for (const NodeId node : nodes) value_by_rank_.push_back(value_of(cluster, node));
}

DomainMembers::ValueId DomainMembers::value_of(const model::Cluster& cluster, NodeId node) {
  const api::StringMap& labels = cluster.node(node).live->meta.labels;
  const auto label = labels.find(key_);
  return label == labels.end() ? ValueId::none() : values_.intern(label->second);
}

void DomainMembers::widen(const model::Cluster& cluster, std::span<const NodeId> nodes,
                          std::span<const std::uint32_t> ranks, std::vector<NodeId>& widened) {
  touched_.assign(values_.size() + ranks.size(), false);
  for (const std::uint32_t rank : ranks) {
    const ValueId before = value_by_rank_[rank], after = value_of(cluster, nodes[rank]);
    value_by_rank_[rank] = after;
    for (const ValueId value : {before, after})
      if (value.valid()) touched_[value.index()] = true;
  }
  for (std::size_t rank = 0; rank < nodes.size(); ++rank)
    if (value_by_rank_[rank].valid() && touched_[value_by_rank_[rank].index()])
      widened.push_back(nodes[rank]);
  if (values_.size() > 2 * nodes.size()) read_all(cluster, nodes);
}

}  // namespace berth::scheduling
