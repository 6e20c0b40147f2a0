#include "topology/tree.h"

#include <algorithm>

#include "base/assert.h"

namespace berth::topology {

Tree::Tree(std::vector<std::string> keys) : keys_(std::move(keys)), domains_(1) {
  BERTH_ASSERT(keys_.size() <= kLevelsMax, "a tree has at most kLevelsMax levels");
}

DomainId Tree::child_of(DomainId parent, const std::string& value) {
  const auto [at, is_new] = children_.try_emplace(ChildKey{parent, value});
  if (!is_new) return at->second;
  DomainId id;
  if (free_.empty()) {
    id = DomainId(static_cast<std::uint32_t>(domains_.size()));
    domains_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  std::string path = parent == root() ? value : path_of(parent) + "/" + value;
  domains_[id.index()] = {value, std::move(path), parent, domains_[parent.index()].level + 1, 0, {}};
  ++domains_[parent.index()].children;
  at->second = id;
  return id;
}

DomainId Tree::leaf_for(const api::StringMap& labels) {
  for (const std::string& key : keys_)
    if (!labels.contains(key)) return DomainId::none();
  DomainId at = root();
  for (const std::string& key : keys_) at = child_of(at, labels.find(key)->second);
  return at;
}

void Tree::drop_if_empty(DomainId id) {
  while (id != root() && domains_[id.index()].nodes.empty() && domains_[id.index()].children == 0) {
    const DomainId parent = domains_[id.index()].parent;
    children_.erase(ChildKey{parent, domains_[id.index()].value});
    free_.push_back(id);
    --domains_[parent.index()].children;
    id = parent;
  }
}

void Tree::put(NodeId node, std::string_view name, const api::StringMap& labels) {
  const DomainId leaf = leaf_for(labels);
  if (node.index() < members_.size() && members_[node.index()].known) {
    if (members_[node.index()].leaf == leaf && members_[node.index()].name == name) return;
    remove(node);
  }
  if (node.index() >= members_.size()) members_.resize(node.index() + 1);
  members_[node.index()] = {true, leaf, std::string(name)};
  if (!leaf.valid()) {
    ++unlabelled_;
    return;
  }
  if (leaf == root()) return;
  std::vector<NodeId>& nodes = domains_[leaf.index()].nodes;
  if (nodes.empty()) leaves_known_ = false;
  nodes.insert(place_of(nodes, name), node);
}

std::vector<NodeId>::const_iterator Tree::place_of(const std::vector<NodeId>& nodes,
                                                   std::string_view name) const {
  const auto before = [this](NodeId a, std::string_view b) { return members_[a.index()].name < b; };
  return std::lower_bound(nodes.begin(), nodes.end(), name, before);
}

void Tree::remove(NodeId node) {
  if (node.index() >= members_.size() || !members_[node.index()].known) return;
  const DomainId leaf = members_[node.index()].leaf;
  if (leaf.valid() && leaf != root()) {
    std::vector<NodeId>& nodes = domains_[leaf.index()].nodes;
    nodes.erase(place_of(nodes, members_[node.index()].name));
    if (nodes.empty()) leaves_known_ = false;
    drop_if_empty(leaf);
  } else if (!leaf.valid()) {
    --unlabelled_;
  }
  members_[node.index()] = {};
}

DomainId Tree::leaf_of(NodeId node) const {
  return node.index() < members_.size() ? members_[node.index()].leaf : DomainId::none();
}

const std::vector<DomainId>& Tree::leaves() const {
  if (leaves_known_) return leaves_;
  leaves_known_ = true;
  leaves_.clear();
  for (std::uint32_t i = 1; i < domains_.size(); ++i)
    if (!domains_[i].nodes.empty()) leaves_.push_back(DomainId(i));
  std::ranges::sort(leaves_, {}, [&](DomainId id) { return std::pair(std::string_view(path_of(id)), id); });
  return leaves_;
}

}  // namespace berth::topology
