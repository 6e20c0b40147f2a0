// Moves pods in a what-if, one unit after the other: who may leave, and where each finds another node.
//
// A unit is a pod, or all members of a group that is disrupted as one. Budgets and minima are counted as if
// nobody came back before the last move. Owner: one search, one thread. Cost: move() that of a decision.
// Source: policy/v1 (evictions), KEP-4671 (minCount, disruptionMode).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <variant>
#include <vector>

#include "placement/defragmentation/defragmentation.h"
#include "placement/defragmentation/device_counts.h"
#include "placement/preemption/disruptions.h"

namespace berth::placement {

struct MoveUnit {
  std::vector<PodId> pods;  // by name
  const api::PodGroup* group = nullptr;
  bool as_one = false;
  std::int64_t devices = 0;
};

struct StayingPod {
  PodId pod;
  StayReason reason = StayReason::NoRoom;
};

class PodMover {
 public:
  // All outlive it.
  PodMover(DecisionCore& core, const DefragmentationQuestion& question, const DeviceCounts& counts,
           model::Ledger::Transaction& transaction);

  struct Units {
    std::vector<MoveUnit> movable;    // most devices first, then by name
    std::vector<StayingPod> staying;  // by name
    std::vector<PodId> ending;        // they are being deleted
  };
  // Of the pods with devices on the nodes.
  Units units_on(std::span<const NodeId> nodes) const;

  // The unit leaves, and has its new places. `avoid`: ascending. Otherwise nothing has changed.
  std::variant<std::vector<PodMove>, StayingPod> move(const MoveUnit& unit, std::span<const NodeId> avoid);
  struct Placed {
    std::int64_t devices = 0;
    model::Plan room;
  };
  // What waits gets its place; none: it does not fit.
  std::optional<Placed> place(const WaitingEntity& waiting);
  void remove(std::span<const PodId> pods);

  // Everything that moves change.
  struct Mark {
    model::Ledger::Transaction::Savepoint savepoint;
    Disruptions disruptions;
    std::map<client::NamedKey, std::int32_t> taken;
    std::set<PodId> moved;
  };
  Mark mark() const { return {transaction_.savepoint(), disruptions_, taken_, moved_}; }
  void undo(const Mark& mark);

 private:
  std::optional<StayReason> why_it_stays(PodId pod) const;
  // None: the pod moves alone. Also where members beyond the minimum do so.
  std::variant<std::optional<MoveUnit>, StayReason> group_unit(const api::Pod& pod) const;
  std::optional<StayReason> charge(const MoveUnit& unit);
  // `avoid`, and nodes that the pod would have to leave again. Ascending.
  std::vector<NodeId> avoided_for(const api::Pod& pod, std::span<const NodeId> avoid) const;
  bool place_alone(PodMove& move, std::span<const NodeId> avoid);
  std::optional<StayReason> place_members(const MoveUnit& unit, std::span<const NodeId> avoid,
                                          std::vector<PodMove>& moves);
  model::Plan steps_since(model::Ledger::Transaction::Savepoint from) const;

  DecisionCore& core_;
  const DefragmentationQuestion& question_;
  const SchedulingContext& context_;
  const model::Cluster& cluster_;
  const DeviceCounts& counts_;
  model::Ledger::Transaction& transaction_;
  std::vector<NodeId> failing_;  // for some pods
  Disruptions disruptions_;
  std::map<client::NamedKey, std::int32_t> taken_;  // members that left their gang
  std::set<PodId> moved_;
};

}  // namespace berth::placement
