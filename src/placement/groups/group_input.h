// A group to place, and what became of it.
//
// Values with pointers into the view; they live as long as the decision. Source: KEP-4671, KEP-5732.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/decider.h"
#include "placement/avoided_nodes.h"
#include "placement/placements.h"
#include "placement/pod_query.h"
#include "placement/refusal/refusal.h"
#include "placement/wishes/wish.h"

namespace berth::placement {

class Budget;
class GroupFit;
class Topology;
class WaitingMembers;
struct GroupPreemptionPlan;  // preemption/cheapest_victims.h

struct GroupInput {
  const api::PodGroup* group = nullptr;
  std::vector<const api::Pod*> waiting;  // members to place: priority, age, name
  const api::Pod* foreign = nullptr;     // a member that another scheduler must place; null: none
  std::vector<const api::Pod*> placed;   // members with a place, bound or on their way
  std::vector<NodeId> occupied;          // their nodes
  std::vector<std::string> recorded;     // their domains (group_domain.h), or empty
  std::vector<std::string> levels;       // keys that it and those above it require, or their policies
  std::int32_t scheduled = 0;  // members that count for minCount: bound, committed, or at the barrier
  std::string joins;           // the decision at the barrier that the new members join; empty: none
  bool unsettled = false;      // a decision about it is under way, so it may not be decided now
  AvoidedByPod avoid;
  std::vector<model::DeviceId> hidden;  // devices that no member may use
  GroupWishPtr wish;                    // null: no policy names the group
  // Of some members of the group: so many must find a place. None: as many as the group's minimum asks for.
  std::optional<std::int32_t> needs = std::nullopt;
  bool node_by_node = false;  // a member goes where the one before it went, if it fits
};

struct MemberOutcome {
  NodeId node;                               // none: not placed
  ReservationPtr reservation;                // of a placed member
  RefusalPtr refusal;                        // of a member that was tried and refused
  RefusalPtr closest;                        // the same, on the placement that takes most members
  std::vector<client::Chain> deallocations;  // of a member that fits nowhere in the cluster
};

struct GroupOutcome {
  enum class Kind : std::uint8_t { Placed, Unschedulable, Error };
  Kind kind = Kind::Unschedulable;
  std::string placement;               // path of the chosen domain
  std::vector<MemberOutcome> members;  // as GroupInput::waiting
  std::shared_ptr<Refusal> refusal;    // null: all waiting members are placed
  // Of a refused group, where evictions make room; else null.
  std::shared_ptr<GroupPreemptionPlan> preemption = nullptr;
  std::optional<WishResult> wish = std::nullopt;  // of a placed group with a wish

  std::size_t placed() const;
};

// How hard one placement is tried: the members in their own order, or all choices as well.
enum class GroupEffort : std::uint8_t { InOrder, AllChoices };

// One placement that is tried, by a what-if or for a group of a tree.
struct GroupTrial {
  const Placement& placement;
  std::size_t needed = 1;  // members that must be placed
  GroupEffort effort = GroupEffort::AllChoices;
  std::size_t most = SIZE_MAX;   // no more are placed
  Topology* topology = nullptr;  // that has the placement's domain; null: the group's own
  bool explains = false;         // members that are not placed get their refusals
  GroupFit* fit = nullptr;       // of members of the same kind, signed before; null: none
  std::shared_ptr<const WaitingMembers> members = nullptr;  // of the group; null: not looked up yet
};

// Placements among which one is chosen, and how.
struct GroupScope {
  std::span<const Placement> placements;
  Topology* topology = nullptr;  // that has their domains; null: the whole cluster
  Budget& steps;                 // of the search of all choices
  GroupEffort effort = GroupEffort::AllChoices;
};

// One of several groups that are placed at once, each on nodes of its own.
struct GroupPart {
  const GroupInput* input = nullptr;
  const Placement* placement = nullptr;
  std::size_t needed = 1;  // members that must be placed; no more are
};

}  // namespace berth::placement
