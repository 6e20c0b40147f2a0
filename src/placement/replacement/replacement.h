// Where members of a group go that lost their places: one what-if for all of them at once.
//
// The lost members leave, and are placed like late members of their group: inside the domain that the
// others share, and on no failing node. Where that has no room, the next broader level, or the whole group in
// another domain. If not all fit, members that wait already go first, and lost ones without room stay: they
// keep what they have. Pure: the transaction is left as it was. Owner: the scheduler, one thread. Cost: that
// of up to kReplacementTriesMax decisions about so many members, and O(nodes). Source: PlacementPolicy,
// spec.replaceFailedNodes and spec.whenNoSpare (docs/topology.md).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "placement/groups/group_cycle.h"
#include "placement/groups/group_input.h"

namespace berth::placement {

// So often those that fit are placed again, where the rooms of those that stay are in use.
inline constexpr std::size_t kReplacementTriesMax = 8;

// Domain: the narrowest wished or required domain that the other members share. Wider: one level more.
// Group: all members leave, and are placed as a new group is.
enum class ReplacementScope : std::uint8_t { Domain, Wider, Group };

struct ReplacementQuestion {
  const SchedulingContext& context;
  const GroupInput& input;                        // as for a decision, with a wish
  std::span<const api::Pod* const> lost;          // bound members, also some that are being deleted
  std::span<const api::Pod* const> leaving = {};  // bound members that leave already, with rooms elsewhere
  std::size_t rooms_kept = 0;                     // for their successors: holds that bind the group, too
};

// What the successor of one member needs.
struct ReplacementRoom {
  const api::Pod* pod = nullptr;  // that leaves
  NodeId node;
  model::Plan plan;
};

struct ReplacementPlan {
  std::vector<ReplacementRoom> rooms;  // by the order of members; of fewer than all if the minimum permits
  std::string domain;                  // "rack r1", or empty
};

struct ReplacementAnswer {
  std::optional<ReplacementPlan> plan;  // not set: no room was found
  bool proved = true;                   // that there is none; else the search's budget ended
};
ReplacementAnswer find_replacement(GroupCycle& groups, const ReplacementQuestion& question,
                                   ReplacementScope scope, model::Ledger::Transaction& transaction);

// Waiting members avoid nodes that they would have to leave again. Cost: O(nodes), and O(failing nodes) a
// member.
void avoid_failing_nodes(const model::Cluster& cluster, GroupInput& input);
void avoid_failing_nodes(const model::Cluster& cluster, std::span<GroupInput* const> groups);
// The wish for late members of a group that has spread beyond its required level: what they still share.
GroupWishPtr wish_of_late_members(const model::Cluster& cluster, const GroupInput& input);
// `now`, the wish of late members, one level wider; null: there is none, or the policy does not ask for it.
GroupWishPtr widened_wish(const GroupInput& input, const GroupWishPtr& now);

}  // namespace berth::placement
