#include "placement/index/domains.h"

#include <utility>

namespace berth::placement {

DomainUse& DomainUse::operator+=(const DomainUse& other) {
  for (std::size_t i = 0; i < 2; ++i) {
    requested[i] += other.requested[i];
    allocatable[i] += other.allocatable[i];
  }
  return *this;
}

DomainUse& DomainUse::operator-=(const DomainUse& other) {
  for (std::size_t i = 0; i < 2; ++i) {
    requested[i] -= other.requested[i];
    allocatable[i] -= other.allocatable[i];
  }
  return *this;
}

DomainUse use_of(const model::Cluster& cluster, NodeId node) {
  DomainUse use;
  const model::NodeRow& row = cluster.node(node);
  if (!row.live) return use;
  for (const model::ResourceId resource : {model::kCpu, model::kMemory}) {
    use.requested[resource.index()] = model::amount_in(cluster.ledger().node(node).requested, resource);
    use.allocatable[resource.index()] = model::amount_in(row.allocatable, resource);
  }
  return use;
}

void add_requested(const model::ResourceAmounts& amounts, DomainUse& use) {
  for (const model::ResourceAmount& one : amounts)
    if (one.resource == model::kCpu || one.resource == model::kMemory)
      use.requested[one.resource.index()] += one.amount;
}

Topology::Topology(std::vector<std::string> keys, const model::Cluster& cluster)
    : tree_(std::move(keys)), seen_(cluster.ledger().changes().end()) {
  for (const auto& [name, node] : cluster.live_nodes()) look(cluster, node);
}

// Most changes are charges of pods, which leave the labels as they are.
void Topology::look(const model::Cluster& cluster, NodeId node) {
  const model::NodeRow& row = cluster.node(node);
  const std::uint64_t stamp = row.live ? row.labels_stamp : 0;
  if (node.index() >= labels_stamps_.size()) labels_stamps_.resize(cluster.nodes().size());
  if (labels_stamps_[node.index()] == stamp) return;
  labels_stamps_[node.index()] = stamp;
  if (row.live)
    tree_.put(node, row.name, row.live->meta.labels);
  else
    tree_.remove(node);
}

void Topology::catch_up(const model::Cluster& cluster) {
  if (!cluster.ledger().changes().catch_up(seen_, [&](NodeId node) { look(cluster, node); }))
    for (std::uint32_t i = 0; i < cluster.nodes().size(); ++i) look(cluster, NodeId(i));
}

DomainUse Topology::use(const model::Cluster& cluster, topology::DomainId domain) {
  use_.catch_up(tree_, cluster.ledger().changes(), cluster.nodes().size(),
                [&](NodeId node) { return use_of(cluster, node); });
  return use_.sum(domain);
}

const topology::FitCounts& Topology::fit(const std::string& signature, const model::Cluster& cluster,
                                         const std::function<std::int64_t(NodeId)>& room) {
  topology::FitCounts& counts = fits_.at(signature);
  counts.catch_up(tree_, cluster.ledger().changes(), cluster.nodes().size(),
                  [&](NodeId node) { return cluster.node(node).live ? room(node) : std::int64_t{0}; });
  return counts;
}

const topology::FitCounts& Topology::fit_with_devices(const std::string& signature,
                                                      const model::Cluster& cluster,
                                                      const std::function<std::int64_t(NodeId)>& room) {
  DeviceFit& kept = device_fits_.at(signature);
  if (kept.shared_pools_stamp != cluster.shared_pools_stamp())
    kept = {topology::FitCounts(), cluster.shared_pools_stamp()};
  kept.counts.catch_up(
      tree_, cluster.ledger().changes(), cluster.nodes().size(),
      [&](model::PoolId id) {
        const model::PoolRow& pool = cluster.pool(id);
        return pool.wide ? nullptr : &pool.nodes;
      },
      [&](NodeId node) { return cluster.node(node).live ? room(node) : std::int64_t{0}; });
  return kept.counts;
}

Topology& DomainIndex::topology(const std::string& key, const model::Cluster& cluster) {
  return topology(std::span<const std::string>(&key, key.empty() ? 0 : 1), cluster);
}

std::shared_ptr<Topology> DomainIndex::kept_topology(std::span<const std::string> keys,
                                                     const model::Cluster& cluster) {
  std::string name;
  for (const std::string& key : keys) name.append(name.empty() ? "" : "\n").append(key);
  const std::shared_ptr<Topology>& topology = topologies_.at(
      name, [&] { return std::make_shared<Topology>(std::vector(keys.begin(), keys.end()), cluster); });
  topology->catch_up(cluster);
  return topology;
}

const DomainAmounts& DomainIndex::amounts(const DomainCount& count, const model::Cluster& cluster) {
  constexpr int kGenerationBits = 32;
  DomainAmounts& amounts =
      amounts_.at(count.bytes(), [&] { return DomainAmounts(++amounts_made_ << kGenerationBits); });
  amounts.catch_up(cluster, count);
  return amounts;
}

std::vector<AmountRange> DomainIndex::accepted(std::span<const DomainRule> rules,
                                               const model::Cluster& cluster) {
  std::vector<DomainTotals> totals;
  std::map<std::string_view, std::int64_t> sums;
  for (const DomainRule& rule : rules) {
    totals.push_back(amounts(rule, cluster).totals());
    sums[rule.amount_bytes] += totals.back().sum;
  }
  std::vector<AmountRange> ranges;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    totals[i].sum = sums.at(rules[i].amount_bytes);
    ranges.push_back(rules[i].accepted(totals[i]));
  }
  return ranges;
}

DeviceScopes& DomainIndex::device_scopes(const model::Cluster& cluster) {
  device_scopes_.catch_up(cluster);
  return device_scopes_;
}

}  // namespace berth::placement
