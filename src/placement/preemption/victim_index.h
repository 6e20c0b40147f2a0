// What evicting the pods of a node up to a priority would free at most: a lower bound of what the cheapest
// victims on the node cost, without trying any. Pods that are being bound count as if they were bound.
//
// Owner: one DecisionCore, on one thread. Cost: catch_up() O(pods of the nodes that changed), and of all when
// a budget begins or ceases to protect its pods; bound() O(priorities on the node · resources asked for).
// Memory: some 250 bytes a node and priority.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "placement/preemption/victims.h"

namespace berth::placement {

class VictimIndex {
 public:
  // Before the transaction tries anything.
  void catch_up(const SchedulingContext& context);

  // What the pod lacks on a node.
  struct Demand {
    std::int32_t priority = 0;              // victims are below it
    const model::ResourceAmounts* charges;  // of the pod, that its profile counts
    bool devices = false;                   // of the node alone
    bool far_devices = false;               // that pods of any node may hold
  };
  // A cost below which no set of victims on the node makes room; none: not even all of them do.
  std::optional<PreemptionCost> bound(const model::Cluster& cluster, NodeId node, const Demand& demand) const;
  // The least that victims on the node lose when none of them is above the priority `top`. It counts the pods
  // that must go for each missing resource. Cost: O(pods of the node · resources asked for). Work is lost as
  // time passes, so nothing is kept.
  static __int128 least_lost(const SchedulingContext& context, NodeId node, const Demand& demand,
                             std::int64_t top);
  // Whether the node has a pod below the priority that can be evicted, now or once it is bound, or ends soon.
  bool has_victims(NodeId node, std::int32_t priority) const;
  // The resources that the node lacks even without all its victims.
  std::vector<model::ResourceId> still_lacking(const model::Cluster& cluster, NodeId node,
                                               const Demand& demand) const;
  // The lowest priority of such a pod, kNobody for one that ends soon or for an idle claim;
  // INT64_MAX: there is none.
  std::int64_t lowest() const;
  // Whether one of them has a controller that makes it anew, as a pod alone.
  bool any_returns() const { return returning_ > 0; }

 private:
  // Of the pods of one priority, and of all below it.
  struct Level {
    std::int64_t priority = 0;  // PreemptionCost::kNobody: those that end soon
    std::int64_t pods = 0;
    model::ResourceSums freed;
    model::ResourceRow largest;  // of one pod
    bool devices = false;
    Time latest;  // start, of this priority alone
  };
  using Levels = std::vector<Level>;  // ascending
  struct Row {
    Levels all;
    Levels cheap;           // without those that are tied or protected by a budget
    bool all_cheap = true;  // then `cheap` is empty
    bool idle = false;      // a claim that nobody uses any more holds a device of the node
    bool returns = false;   // a pod of any_returns()
  };
  static void add(Levels& levels, std::int64_t priority, const model::PodCharge& charge, bool devices,
                  Time started);
  static void sum_up(Levels& levels);
  static std::optional<PreemptionCost> bound(const model::Cluster& cluster, NodeId node, const Levels& levels,
                                             const Demand& demand);
  void read(const SchedulingContext& context, NodeId node);
  void count_lowest(const Row& row, int by);
  bool reads_budgets(const client::View& view);

  std::vector<Row> rows_;                       // by node
  std::map<std::int64_t, std::size_t> lowest_;  // of each node, with the number of nodes
  int idle_ = 0, returning_ = 0;                // nodes
  std::vector<std::shared_ptr<const api::DisruptionBudget>> budgets_;  // as protection_ knows them
  std::uint64_t protection_ = 0;
  bool fresh_ = true;
  model::Changes::Position seen_;
  std::vector<NodeId> changed_;
};

}  // namespace berth::placement
