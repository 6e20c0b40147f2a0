#include "placement/filter_scope.h"

#include <algorithm>

namespace berth::placement {

void FilterScope::clear() {
  topology_keys_.clear();
  digests_.clear();
}

void FilterScope::add_domain(std::string_view topology_key) {
  if (std::find(topology_keys_.begin(), topology_keys_.end(), topology_key) == topology_keys_.end())
    topology_keys_.emplace_back(topology_key);
}

DomainMembers::DomainMembers(std::string key, const model::Cluster& cluster, const NodeOrder& order)
    : key_(std::move(key)) {
  read_all(cluster, order);
}

void DomainMembers::read_all(const model::Cluster& cluster, const NodeOrder& order) {
  values_ = {};
  value_by_slot_.assign(order.slot_count(), ValueId::none());
  for (const NodeId node : order.by_name()) value_by_slot_[order.slot(node)] = value_of(cluster, node);
}

DomainMembers::ValueId DomainMembers::value_of(const model::Cluster& cluster, NodeId node) {
  if (!node.valid()) return ValueId::none();
  const api::StringMap& labels = cluster.node(node).live->meta.labels;
  const auto label = labels.find(key_);
  return label == labels.end() ? ValueId::none() : values_.intern(label->second);
}

void DomainMembers::widen(const model::Cluster& cluster, const NodeOrder& order,
                          std::span<const std::uint32_t> slots, std::vector<std::uint32_t>& widened) {
  value_by_slot_.resize(order.slot_count(), ValueId::none());
  touched_.assign(values_.size() + slots.size(), false);
  for (const std::uint32_t slot : slots) {
    const ValueId before = value_by_slot_[slot], after = value_of(cluster, order.node(slot));
    value_by_slot_[slot] = after;
    for (const ValueId value : {before, after})
      if (value.valid()) touched_[value.index()] = true;
  }
  for (std::uint32_t slot = 0; slot < value_by_slot_.size(); ++slot)
    if (value_by_slot_[slot].valid() && touched_[value_by_slot_[slot].index()]) widened.push_back(slot);
  if (values_.size() > 2 * order.slot_count()) read_all(cluster, order);
}

}  // namespace berth::placement
