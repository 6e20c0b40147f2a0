#include "placement/defragmentation/domain_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "api/node_names.h"
#include "placement/replacement/lost_places.h"

namespace berth::placement {
namespace {

std::string evicting_taints(const api::Node& node) {
  std::string text;
  for (const api::Taint& taint : node.taints)
    if (taint.effect == api::kNoExecute) text.append(api::to_text(taint)).append(",");
  return text;
}

// Nodes that are not Ready, or whose taints evict a pod with devices that is there. A node without such a pod
// fails if its taints evict all of them: nodes of one team may all have a taint that its pods tolerate.
class FailingNodes {
 public:
  FailingNodes(const model::Cluster& cluster, const DeviceCounts& counts)
      : cluster_(cluster), counts_(counts) {}

  bool has(NodeId id) {
    const api::Node& node = *cluster_.node(id).live;
    if (!is_failing(node)) return false;
    if (!is_ready(node)) return true;
    const auto is_evicted = [&](const api::Pod* pod) { return is_failing_for(node, *pod); };
    std::vector<const api::Pod*> here;
    add_users(id, here);
    if (!here.empty()) return std::ranges::any_of(here, is_evicted);
    const auto [at, is_new] = evict_all_.try_emplace(evicting_taints(node));
    if (is_new) at->second = std::ranges::all_of(users(), is_evicted);
    return at->second;
  }

 private:
  // Pods with devices.
  void add_users(NodeId node, std::vector<const api::Pod*>& users) const {
    for (const PodId id : cluster_.ledger().node(node).pods)
      if (const api::Pod* pod = cluster_.pod(id).live.get(); pod && counts_.held(id) > 0)
        users.push_back(pod);
  }
  const std::vector<const api::Pod*>& users() {
    if (!users_) {
      users_.emplace();
      for (const auto& [name, node] : cluster_.live_nodes()) add_users(node, *users_);
    }
    return *users_;
  }

  const model::Cluster& cluster_;
  const DeviceCounts& counts_;
  std::optional<std::vector<const api::Pod*>> users_;  // of all nodes
  std::map<std::string, bool> evict_all_;              // by taints
};

}  // namespace

bool DomainRow::cheaper_than(const DomainRow& other) const {
  const auto share = [](std::int64_t part, const DomainRow& of) {
    return static_cast<__int128>(part) * of.offered;
  };
  const auto moves_here = static_cast<std::int64_t>(moves), there = static_cast<std::int64_t>(other.moves);
  return std::tuple(share(moves_here, other), share(moved, other), std::string_view(path)) <
         std::tuple(share(there, *this), share(other.moved, *this), std::string_view(other.path));
}

DomainRows::DomainRows(const DefragmentationQuestion& question, DomainIndex& domains,
                       const DeviceCounts& counts, const PodMover& mover)
    : context_(question.context), counts_(counts), mover_(mover) {
  const model::Cluster& cluster = context_.cluster;
  FailingNodes failing(cluster, counts);
  row_of_.assign(cluster.nodes().size(), SIZE_MAX);
  const topology::Tree& tree = domains.topology(question.level, cluster).tree();
  for (const topology::DomainId leaf : tree.leaves()) {
    DomainRow& row = rows_.emplace_back();
    row.path = tree.path_of(leaf);
    for (const NodeId node : tree.domain(leaf).nodes) {
      const model::NodeRow& live = cluster.node(node);
      if (live.unschedulable || failing.has(node)) continue;
      row.nodes.push_back(node);
      row_of_[node.index()] = rows_.size() - 1;
    }
    read(row);
  }
  for (const auto& [name, node] : cluster.live_nodes()) {
    if (failing.has(node))
      failing_.push_back(node);
    else if (row_of_[node.index()] == SIZE_MAX && !cluster.node(node).unschedulable)
      outside_.push_back(node);
  }
}

void DomainRows::read(DomainRow& row) const {
  row.offered = row.used = row.moved = row.largest = 0;
  row.moves = 0;
  row.stays.reset();
  for (const NodeId node : row.nodes) {
    row.offered += counts_.offered(node);
    row.used += counts_.used(node);
  }
  if (row.used == 0) return;
  const PodMover::Units units = mover_.units_on(row.nodes);
  for (const MoveUnit& unit : units.movable) {
    row.moves += unit.pods.size();
    row.moved += unit.devices;
    row.largest = std::max(row.largest, unit.devices);
  }
  if (!units.staying.empty()) row.stays = units.staying.front();
}

void DomainRows::refresh(std::span<const NodeId> nodes) {
  std::set<std::size_t> changed;
  for (const NodeId node : nodes)
    if (node.valid() && row_of_[node.index()] != SIZE_MAX) changed.insert(row_of_[node.index()]);
  for (const std::size_t at : changed) read(rows_[at]);
}

void DomainRows::refresh_all() {
  for (DomainRow& row : rows_) read(row);
}

std::int64_t DomainRows::free_elsewhere() const {
  std::int64_t devices = 0;
  for (const DomainRow& row : rows_)
    if (!row.whole() && !(row.settled && !row.why)) devices += row.free();
  for (const NodeId node : outside_)
    devices += std::max<std::int64_t>(0, counts_.offered(node) - counts_.used(node));
  return devices;
}

std::vector<NodeId> DomainRows::avoided(std::span<const std::size_t> emptied) const {
  std::vector<NodeId> nodes = failing_;
  const auto add = [&](const DomainRow& row) {
    nodes.insert(nodes.end(), row.nodes.begin(), row.nodes.end());
  };
  for (const std::size_t at : emptied) add(rows_[at]);
  for (const DomainRow& row : rows_)
    if (row.whole() || (row.settled && !row.why)) add(row);
  std::ranges::sort(nodes);
  nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  return nodes;
}

}  // namespace berth::placement
