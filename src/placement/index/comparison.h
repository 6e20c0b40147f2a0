// How a score compares the nodes that may take a pod: what it reads of each node and of its domains, and how
// all of that together becomes scores.
//
// Valid as long as the attempt that made it. Nodes with equal values and domains are one class, so that
// scores are exact without a pass over the nodes.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "placement/index/domain_amounts.h"

namespace berth::placement {

// The classes of nodes that may take the pod, with what one comparison reads of them. Cost: the buffers are
// reused.
class ComparedNodes {
 public:
  // `domains`: of the comparison, counted or not.
  void start(std::size_t columns, std::size_t domains) {
    columns_ = columns;
    domains_ = domains;
    nodes_.clear();
    values_.clear();
    domain_ids_.clear();
  }
  // A class of so many nodes, with nothing in each column and in no domain.
  void add(std::size_t nodes) {
    nodes_.push_back(nodes);
    values_.resize(values_.size() + columns_);
    domain_ids_.resize(domain_ids_.size() + domains_);
  }
  void add_to(std::size_t at, std::size_t column, std::int64_t amount) {
    values_[at * columns_ + column] += amount;
  }
  void set_domain(std::size_t at, std::size_t count, DomainValueId domain) {
    domain_ids_[at * domains_ + count] = domain;
  }

  std::size_t size() const { return nodes_.size(); }
  std::size_t nodes(std::size_t at) const { return nodes_[at]; }
  std::int64_t value(std::size_t at, std::size_t column) const { return values_[at * columns_ + column]; }
  // By a count that distinguishes domains; none: the nodes are in no domain.
  DomainValueId domain(std::size_t at, std::size_t count) const { return domain_ids_[at * domains_ + count]; }

 private:
  std::size_t columns_ = 0, domains_ = 0;
  std::vector<std::size_t> nodes_;         // by class
  std::vector<std::int64_t> values_;       // by class and column
  std::vector<DomainValueId> domain_ids_;  // by class and count
};

struct Comparison {
  struct Domains {
    DomainCount count;
    std::size_t column = 0;    // to which a node's domain adds its amount
    bool tells_apart = false;  // ComparedNodes::domain() is read: nodes of two domains are never one class
  };
  struct NodeValue {
    std::function<std::int64_t(NodeId)> of;  // reads the live node, its pods and their labels
    std::size_t column = 0;                  // to which it adds
  };
  std::vector<Domains> domains;
  std::vector<NodeValue> values;
  std::size_t columns = 1;
  // Sets the score of each class, 0 to kNodeScoreMax. At least one class has nodes.
  std::function<void(const ComparedNodes&, std::span<std::int64_t> scores)> normalize;
};

inline constexpr std::int64_t kNodeScoreMax = 100;

// 0 for the smallest value, kNodeScoreMax for the largest. Source: kube-scheduler's InterPodAffinity.
inline void scale_min_to_max(const ComparedNodes& compared, std::span<std::int64_t> scores) {
  std::int64_t least = compared.value(0, 0), most = least;
  for (std::size_t i = 0; i < compared.size(); ++i) {
    least = std::min(least, compared.value(i, 0));
    most = std::max(most, compared.value(i, 0));
  }
  for (std::size_t i = 0; i < compared.size(); ++i) {
    const double share =
        static_cast<double>(compared.value(i, 0) - least) / static_cast<double>(most - least);
    scores[i] = most == least ? 0 : static_cast<std::int64_t>(static_cast<double>(kNodeScoreMax) * share);
  }
}
// 0 for nothing, kNodeScoreMax for the largest value. Source: kube-scheduler's DefaultNormalizeScore.
inline void share_of_largest(const ComparedNodes& compared, std::span<std::int64_t> scores) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < compared.size(); ++i) most = std::max(most, compared.value(i, 0));
  for (std::size_t i = 0; i < compared.size(); ++i)
    scores[i] = most == 0 ? 0 : kNodeScoreMax * compared.value(i, 0) / most;
}
// The same the other way round: kNodeScoreMax for nothing.
inline void share_of_largest_reversed(const ComparedNodes& compared, std::span<std::int64_t> scores) {
  share_of_largest(compared, scores);
  for (std::int64_t& score : scores) score = kNodeScoreMax - score;
}

}  // namespace berth::placement
