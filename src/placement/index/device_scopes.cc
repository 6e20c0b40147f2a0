#include "placement/index/device_scopes.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "base/key_bytes.h"

namespace berth::placement {
namespace {

using model::NodeId;

void append_requirements(std::string& key, const std::vector<api::Requirement>& requirements) {
  append_key(key, requirements.size());
  for (const api::Requirement& requirement : requirements) {
    append_key(key, requirement.key);
    append_key(key, requirement.op);
    append_key(key, requirement.values.size());
    for (const std::string& value : requirement.values) append_key(key, value);
  }
}

std::string bytes_of(const api::NodeSelector& selector) {
  std::string key;
  append_key(key, selector.terms.size());
  for (const api::NodeSelectorTerm& term : selector.terms) {
    append_requirements(key, term.expressions);
    append_requirements(key, term.fields);
  }
  return key;
}

bool reaches(const api::NodeSelector& selector, const model::NodeRow& node) {
  return api::matches(selector, node.live->meta.labels, node.name);
}

// The sets that are not empty, without repetition.
std::vector<NodeSet> distinct(const std::vector<NodeSet>& sets) {
  std::set<NodeSet> seen;
  std::vector<NodeSet> kept;
  for (const NodeSet& one : sets)
    if (!one.empty() && seen.insert(one).second) kept.push_back(one);
  return kept;
}

// Adds what any number of the sets have in common. False when there are more than kDeviceScopesMax.
bool close_under_intersection(std::vector<NodeSet>& sets) {
  std::set<NodeSet> seen(sets.begin(), sets.end());
  const std::size_t given = sets.size();
  for (std::size_t i = 0; i < sets.size(); ++i)
    for (std::size_t j = 0; j < given; ++j) {
      NodeSet common = sets[i].common_with(sets[j]);
      if (common.empty() || !seen.insert(common).second) continue;
      if (sets.size() >= kDeviceScopesMax) return false;
      sets.push_back(std::move(common));
    }
  return true;
}

void larger_first(std::vector<NodeSet>& sets) {
  std::stable_sort(sets.begin(), sets.end(),
                   [](const NodeSet& a, const NodeSet& b) { return a.count() > b.count(); });
}

}  // namespace

void NodeSet::put(NodeId node, bool member) {
  const std::size_t word = node.index() / kBits;
  const std::uint64_t bit = std::uint64_t{1} << node.index() % kBits;
  if (word >= words_.size()) {
    if (!member) return;
    words_.resize(word + 1);
  }
  words_[word] = member ? words_[word] | bit : words_[word] & ~bit;
  trim();
}

bool NodeSet::contains_all(const NodeSet& other) const {
  if (other.words_.size() > words_.size()) return false;
  for (std::size_t i = 0; i < other.words_.size(); ++i)
    if ((other.words_[i] & ~words_[i]) != 0) return false;
  return true;
}

NodeSet NodeSet::common_with(const NodeSet& other) const {
  NodeSet common;
  common.words_.resize(std::min(words_.size(), other.words_.size()));
  for (std::size_t i = 0; i < common.words_.size(); ++i) common.words_[i] = words_[i] & other.words_[i];
  common.trim();
  return common;
}

std::size_t NodeSet::count() const {
  std::size_t count = 0;
  for (const std::uint64_t word : words_) count += static_cast<std::size_t>(std::popcount(word));
  return count;
}

void NodeSet::trim() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

void DeviceScopes::catch_up(const model::Cluster& cluster) {
  if (pools_stamp_ != cluster.shared_pools_stamp()) read_slices(cluster);
  read_nodes(cluster);
}

const std::vector<NodeSet>& DeviceScopes::node_sets(bool several) {
  std::vector<NodeSet>& sets = several ? common_ : single_;
  if (!sets.empty()) return sets;
  sets = distinct(scopes_);
  if (several && !close_under_intersection(sets)) truncated_ = true;
  larger_first(sets);
  return sets;
}

// Scopes that stay keep their sets.
void DeviceScopes::read_slices(const model::Cluster& cluster) {
  DeviceScopes before;
  std::swap(before, *this);
  pools_stamp_ = cluster.shared_pools_stamp();
  for (const auto& [name, pool] : cluster.shared_pools())
    for (const auto& [slice_name, slice] : cluster.pool(pool).slices) read_slice(slice);
  labels_stamps_ = std::move(before.labels_stamps_);
  seen_ = before.seen_;
  scopes_.resize(selectors_.size());
  for (const auto& [bytes, scope] : known_) {
    const auto old = before.known_.find(bytes);
    if (old != before.known_.end())
      scopes_[scope] = std::move(before.scopes_[old->second]);
    else
      fill(scope, cluster);
  }
}

void DeviceScopes::fill(std::size_t scope, const model::Cluster& cluster) {
  for (std::size_t i = 0; i < labels_stamps_.size(); ++i) {
    const model::NodeRow& row = cluster.nodes()[i];
    if (row.live && reaches(selectors_[scope], row))
      scopes_[scope].put(NodeId(static_cast<std::uint32_t>(i)), true);
  }
}

void DeviceScopes::read_slice(const model::SliceRow& slice) {
  const api::ResourceSlice& live = *slice.live;
  const std::size_t first_offer = offers_.size();
  for (std::size_t i = 0; i < slice.devices.size(); ++i) {
    const std::optional<api::NodeSelector>& selector =
        live.per_device_node_selection ? live.devices[i].node_selector : live.node_selector;
    if (selector) add_device(*selector, slice.devices[i], first_offer);
  }
}

void DeviceScopes::add_device(const api::NodeSelector& selector, model::DeviceId device,
                              std::size_t first_offer) {
  const std::string bytes = bytes_of(selector);
  auto known = known_.find(bytes);
  if (known == known_.end()) {
    if (selectors_.size() >= kDeviceScopesMax) {
      truncated_ = true;
      return;
    }
    known = known_.emplace(bytes, selectors_.size()).first;
    selectors_.push_back(selector);
  }
  const auto same = std::find_if(offers_.begin() + static_cast<std::ptrdiff_t>(first_offer), offers_.end(),
                                 [&](const Offer& offer) { return offer.scope == known->second; });
  if (same != offers_.end())
    same->devices.push_back(device);
  else
    offers_.push_back({known->second, {device}});
}

void DeviceScopes::read_nodes(const model::Cluster& cluster) {
  labels_stamps_.resize(cluster.nodes().size());
  const auto read = [&](NodeId node) { read_node(cluster, node); };
  if (!cluster.ledger().changes().catch_up(seen_, read))
    for (std::uint32_t i = 0; i < labels_stamps_.size(); ++i) read(NodeId(i));
}

void DeviceScopes::read_node(const model::Cluster& cluster, NodeId node) {
  const model::NodeRow& row = cluster.node(node);
  const std::uint64_t stamp = row.live ? row.labels_stamp : 0;
  if (labels_stamps_[node.index()] == stamp) return;
  labels_stamps_[node.index()] = stamp;
  for (std::size_t scope = 0; scope < selectors_.size(); ++scope)
    scopes_[scope].put(node, row.live && reaches(selectors_[scope], row));
  single_.clear();
  common_.clear();
}

}  // namespace berth::placement
