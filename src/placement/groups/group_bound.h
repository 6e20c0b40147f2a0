// The most members of a group that nodes take together, whatever their order and choices: the proof that a
// refused group does not fit.
//
// Members are alike when filters, scores and devices read the same of them. For each kind it adds up what
// every node would take of this kind alone, by filters, resources and devices. The bound is the sum over
// kinds, each at most the number of its members. Owner: one GroupCycle::run, on one thread; the transaction
// is as before the first member. Cost: the filters, and for devices a few searches, a node and kind; at most
// `nodes_max` of them. Where these are too few, it takes the sums by filters and resources that the topology
// keeps between attempts: O(nodes that changed), or all nodes for a new kind.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "placement/index/domains.h"
#include "placement/pod_cycle.h"

namespace berth::placement {

// Kinds of members that are counted on nodes too many to be judged.
inline constexpr std::size_t kKindsCountedMax = kFitSignaturesMax / 2;

class GroupBound {
 public:
  // All outlive it.
  GroupBound(const PluginSet& plugins, const PodCycle& pods, const SchedulingContext& context,
             model::Ledger::Transaction& transaction, std::span<const api::Pod* const> waiting,
             std::size_t nodes_max)
      : plugins_(plugins),
        pods_(pods),
        context_(context),
        transaction_(transaction),
        waiting_(waiting),
        nodes_left_(nodes_max) {}

  // By member; equal for members that are alike.
  const std::vector<std::uint32_t>& kinds();
  // The proof that the nodes of the domain do not take `needed` members; none if they might.
  std::optional<GroupProof> refute(Topology& topology, topology::DomainId domain,
                                   std::span<const NodeId> nodes, std::int64_t needed);

 private:
  struct Kind {
    std::vector<const api::Pod*> pods;
    std::size_t first = 0;  // member
  };
  void sort_out();
  template <class Room>
  std::optional<GroupProof> refute_by(const Room& room_of, std::int64_t needed);
  // None: unknown.
  std::optional<std::int64_t> fit_count(const Kind& kind, std::span<const NodeId> nodes);
  std::optional<std::int64_t> fit_count_on(const Kind& kind, NodeId node, const FitCounter::Demand& demand);

  const PluginSet& plugins_;
  const PodCycle& pods_;
  const SchedulingContext& context_;
  model::Ledger::Transaction& transaction_;
  const std::span<const api::Pod* const> waiting_;
  std::size_t nodes_left_;
  std::vector<std::uint32_t> kind_of_;
  std::vector<Kind> kinds_;
  CycleState state_;
};

}  // namespace berth::placement
