#include "placement/index/domain_amounts.h"

namespace berth::placement {
namespace {

// Domains without nodes that are kept in any case.
constexpr std::size_t kEmptyDomainsMin = 64;
// No value of a label.
constexpr std::string_view kUnlabelled("\0", 1);

}  // namespace

void DomainAmounts::catch_up(const model::Cluster& cluster, const DomainCount& count) {
  const auto look = [&](NodeId node) { read(cluster, count, node); };
  const bool known = read_ && cluster.ledger().changes().catch_up(seen_, look);
  if (!known || domains_.size() > 2 * cluster.live_nodes().size() + kEmptyDomainsMin)
    read_all(cluster, count);
}

void DomainAmounts::read_all(const model::Cluster& cluster, const DomainCount& count) {
  names_ = {};
  domains_.clear();
  nodes_.clear();
  by_sum_.clear();
  sum_ = 0;
  changes_.clear();
  ++generation_;
  for (const auto& [name, node] : cluster.live_nodes()) read(cluster, count, node);
  read_ = true;
  seen_ = cluster.ledger().changes().end();
}

void DomainAmounts::read(const model::Cluster& cluster, const DomainCount& count, NodeId node) {
  const model::NodeRow& row = cluster.node(node);
  DomainValueId domain;
  std::optional<std::int64_t> amount;
  if (row.live) {
    const auto label = row.live->meta.labels.find(count.topology_key);
    if (label != row.live->meta.labels.end()) {
      domain = names_.intern(label->second);
      amount = count.amount(node);
    } else if (!count.labelled_only) {
      domain = names_.intern(kUnlabelled);
    }
  }
  if (node.index() >= nodes_.size()) nodes_.resize(node.index() + 1);
  const NodeShare& now = nodes_[node.index()];
  if (now.domain == domain && now.amount == amount) return;
  if (domains_.size() < names_.size()) domains_.resize(names_.size());
  take_out(node);
  put_in(node, domain, amount);
}

void DomainAmounts::take_out(NodeId node) {
  const NodeShare share = nodes_[node.index()];
  if (!share.domain.valid()) return;
  Domain& domain = domains_[share.domain.index()];
  add(domain, share.amount, -1);
  domain.nodes[share.position] = domain.nodes.back();
  nodes_[domain.nodes[share.position].index()].position = share.position;
  domain.nodes.pop_back();
  nodes_[node.index()] = {};
  note(share.domain);
}

void DomainAmounts::put_in(NodeId node, DomainValueId id, std::optional<std::int64_t> amount) {
  if (!id.valid()) return;
  Domain& domain = domains_[id.index()];
  nodes_[node.index()] = {id, amount, static_cast<std::uint32_t>(domain.nodes.size())};
  domain.nodes.push_back(node);
  add(domain, amount, +1);
  note(id);
}

void DomainAmounts::add(Domain& domain, std::optional<std::int64_t> amount, int sign) {
  if (!amount) return;
  const auto uncount = [this](std::int64_t sum) {
    const auto at = by_sum_.find(sum);
    if (--at->second == 0) by_sum_.erase(at);
  };
  if (domain.counted > 0) uncount(domain.sum);
  domain.sum += sign * *amount;
  sum_ += sign * *amount;
  domain.counted += static_cast<std::uint32_t>(sign);
  if (domain.counted > 0) ++by_sum_[domain.sum];
}

void DomainAmounts::note(DomainValueId domain) {
  if (changes_.size() == kDomainChangesMax) {
    first_change_ += changes_.size();
    changes_.clear();
  }
  changes_.push_back(domain);
}

DomainTotals DomainAmounts::totals() const {
  DomainTotals totals;
  for (const auto& [sum, count] : by_sum_) totals.domains += count;
  if (!by_sum_.empty()) totals.least = by_sum_.begin()->first;
  totals.sum = sum_;
  return totals;
}

}  // namespace berth::placement
