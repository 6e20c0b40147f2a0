// The amounts of one DomainCount by domain, kept as nodes and pods change.
//
// Owner: the scheduler, one thread. Cost: catch_up() for each node in the change log since the last call
// O(log domains) and the amount of it; a domain's nodes are never walked. Memory: some 36 bytes a
// node, 64 a domain.
#pragma once

#include <map>
#include <vector>

#include "model/cluster.h"
#include "placement/index/domain_rule.h"

namespace berth::placement {

using DomainValueId = DenseId<struct DomainValueTag>;

// Domains that changed, which one set of amounts remembers for its readers.
inline constexpr std::size_t kDomainChangesMax = 1 << 12;

class DomainAmounts {
 public:
  // Generations begin behind this one.
  explicit DomainAmounts(std::uint64_t generation) : generation_(generation) {}

  void catch_up(const model::Cluster& cluster, const DomainCount& count);

  // None: the node is not live, or in no domain.
  DomainValueId domain_of(NodeId node) const {
    return node.index() < nodes_.size() ? nodes_[node.index()].domain : DomainValueId::none();
  }
  std::int64_t amount(DomainValueId domain) const { return domains_[domain.index()].sum; }
  // Its live nodes, in no order.
  const std::vector<NodeId>& nodes(DomainValueId domain) const { return domains_[domain.index()].nodes; }
  // One above the highest id; domains without nodes are among them.
  std::size_t domain_count() const { return domains_.size(); }
  // `sum` is that of these amounts alone.
  DomainTotals totals() const;

  // Changes when domains have other ids, because most had no node any more.
  std::uint64_t generation() const { return generation_; }
  // The position behind the latest change.
  std::uint64_t end() const { return first_change_ + changes_.size(); }
  // Calls `visit` for each domain whose amount or nodes changed since `from`, a value of end(); each at least
  // once, and all where the changes are forgotten.
  template <class Visit>
  void visit_since(std::uint64_t from, Visit visit) const {
    if (from < first_change_) {
      for (std::uint32_t i = 0; i < domains_.size(); ++i) visit(DomainValueId(i));
      return;
    }
    for (std::size_t i = from - first_change_; i < changes_.size(); ++i) visit(changes_[i]);
  }

 private:
  struct NodeShare {
    DomainValueId domain;
    std::optional<std::int64_t> amount;  // none: does not count
    std::uint32_t position = 0;          // in the domain's nodes
  };
  struct Domain {
    std::int64_t sum = 0;
    std::uint32_t counted = 0;  // nodes that count
    std::vector<NodeId> nodes;
  };
  void read_all(const model::Cluster& cluster, const DomainCount& count);
  void read(const model::Cluster& cluster, const DomainCount& count, NodeId node);
  void take_out(NodeId node);
  void put_in(NodeId node, DomainValueId domain, std::optional<std::int64_t> amount);
  void add(Domain& domain, std::optional<std::int64_t> amount, int sign);
  void note(DomainValueId domain);

  model::Names<DomainValueId> names_;
  std::vector<Domain> domains_;
  std::vector<NodeShare> nodes_;                  // by node id
  std::map<std::int64_t, std::uint32_t> by_sum_;  // domains with a node that counts
  std::int64_t sum_ = 0;
  std::vector<DomainValueId> changes_;
  std::uint64_t first_change_ = 0;
  std::uint64_t generation_;
  model::Changes::Position seen_;  // in the cluster's change log
  bool read_ = false;
};

}  // namespace berth::placement
