// Places a tree of groups: the minima of all its groups first, then what is left of them.
//
// Owner: the scheduler. All tentative changes are in the caller's transaction; a refused tree leaves it
// unchanged. If a composite group needs only some of its children, the oldest are tried first, then all
// choices. Of the root's domains the one with the highest score wins, as for a group. Source: KEP-6012, whose
// search never returns to an earlier sibling; this one does (tree_descent.h).
#pragma once

#include "placement/trees/tree_grounds.h"

namespace berth::placement {

class TreeCycle {
 public:
  // All outlive it.
  TreeCycle(GroupCycle& groups, const Profiles& profiles, DomainIndex& domains, Placements placements)
      : groups_(groups), profiles_(profiles), domains_(domains), placements_(placements) {}

  TreeOutcome run(const SchedulingContext& context, const TreeInput& input,
                  model::Ledger::Transaction& transaction);

  GroupCycle& groups() { return groups_; }
  // Of the members' profile.
  const PluginSet& plugins_of(const TreeInput& input) const;
  TreeGrounds grounds_of(const SchedulingContext& context, const TreeInput& input);

 private:
  TreeOutcome run_by_wish(const PluginSet& plugins, const SchedulingContext& context, const TreeInput& input,
                          model::Ledger::Transaction& transaction);

  GroupCycle& groups_;
  const Profiles& profiles_;
  DomainIndex& domains_;
  const Placements placements_;
};

}  // namespace berth::placement
