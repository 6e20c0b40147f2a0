// What each node and each domain would take of a group if pods up to a priority were gone. From it follow the
// priority that must go in a domain at least, and how many pods.
//
// Owner: one decision's search, on one thread; the transaction is as it was after each call. Cost: O(pods of
// the nodes), and the filters of the members on each node once for each priority that it frees. Rooms are
// upper bounds (GroupCycle::rooms), and devices are counted where each belongs to one node.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "placement/groups/group_cycle.h"
#include "placement/preemption/victims.h"

namespace berth::placement {

// Priorities that are distinguished; of more, neighbours count as the lower one.
inline constexpr std::size_t kPriorityLevelsMax = 32;
// Victims of one node that are counted one by one for its price.
inline constexpr std::int64_t kVictimsRatedMax = 64;

class DomainRooms {
 public:
  // All outlive it. `members`: of no more is the price asked.
  DomainRooms(GroupCycle& groups, const SchedulingContext& context, const GroupInput& input,
              std::size_t members, std::span<const Placement* const> placements,
              model::Ledger::Transaction& transaction);

  struct Bound {
    std::size_t members = 0;  // that the domain takes at most, when all victims are gone
    PreemptionCost cost;      // below which it does not take so many
  };
  // For `wanted` members, or as many as it takes. None: it takes fewer than `needed`.
  std::optional<Bound> bound(const Placement& placement, std::size_t needed, std::size_t wanted) const;
  // Nodes of the placement with victims, the cheapest first, that together take so many members.
  std::vector<NodeId> cheapest(const Placement& placement, std::size_t members) const;
  // The node's turn when all are sorted by the price of a member; the last for nodes without gain.
  std::size_t turn(NodeId node) const;
  std::size_t victims(const Placement& placement) const;
  bool has_victims() const { return !victims_.empty(); }
  // Of the placement, in millionths: what stays free without all victims, once all members have their room.
  std::int64_t free_millionths(const Placement& placement) const;
  // Whether a pod that is being bound could be a victim once it is.
  bool waits_for_bindings() const { return waits_for_bindings_; }
  // Removes all victims, whichever domain they are in.
  void remove_all() const;

 private:
  struct Victim {
    std::int64_t priority = 0;  // kNobody: it ends soon
    PodId pod;
    NodeId node;
    __int128 lost = 0;  // work
  };
  struct Gain {
    std::size_t level = 0;
    std::int64_t members = 0;  // more than one level below
  };
  struct Price {
    std::int64_t priority = 0;
    __int128 lost = 0;  // work
  };
  struct Node {
    std::int64_t now = 0;   // members, when those that end soon are gone
    std::int64_t room = 0;  // members, without all victims
    std::vector<Gain> gains;
    std::int64_t victims = 0;
    std::vector<std::int64_t> free, largest;          // of least_: then, and what one victim frees at most
    std::int64_t best_members = 0, best_victims = 1;  // the most members for a victim
    std::size_t turn = SIZE_MAX;
    std::vector<Price> prices;  // of the victims
    __int128 lost = 0;          // work of all of them
    DomainUse use;              // without all victims
  };

  static constexpr std::uint32_t kNoRow = UINT32_MAX;
  Node& row(NodeId node) { return rows_[row_of_[node.index()]]; }
  const Node& row(NodeId node) const { return rows_[row_of_[node.index()]]; }

  void gather(std::span<const Placement* const> placements);
  void read_members(const GroupCycle& groups, const GroupInput& input);
  void sweep(GroupCycle& groups, const GroupInput& input);
  void remove_below(std::int64_t priority, std::size_t& next, std::vector<NodeId>& changed) const;
  void rate(Node& node) const;
  void sort_nodes();
  PreemptionCost least_cost(const Placement& placement, std::size_t level, std::int64_t victims) const;
  std::vector<std::int64_t> rooms(GroupCycle& groups, const GroupInput& input,
                                  std::span<const NodeId> nodes) const;
  std::int64_t free_devices(NodeId node) const;

  const SchedulingContext& context_;
  const model::Cluster& cluster_;
  model::Ledger::Transaction& transaction_;
  const std::int32_t priority_;   // victims are below it
  const std::size_t members_;     // of no more is the price asked
  model::ResourceAmounts least_;  // that every member asks for
  std::int64_t devices_ = 0;      // that every member asks for, of its own node; 0: not counted
  DomainUse asked_;               // by all members
  std::vector<NodeId> nodes_;     // of all placements
  std::vector<Victim> victims_;   // ascending
  std::vector<std::int64_t> levels_;
  bool waits_for_bindings_ = false;
  std::vector<std::uint32_t> row_of_;  // by node; kNoRow: of no placement
  std::vector<Node> rows_;             // of nodes_; none without victims
};

}  // namespace berth::placement
