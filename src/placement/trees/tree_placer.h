// One attempt to place a tree, or what is left of it, in the caller's transaction.
//
// Owner: one TreeCycle::run, on one thread.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "placement/groups/waiting_members.h"
#include "placement/trees/tree_descent.h"
#include "placement/trees/tree_needs.h"

namespace berth::placement {

// What keeps a tree from its minimum, by the group that came closest.
struct TreeObstacle {
  std::size_t node = 0;
  Ground nearest;          // its placement may be null
  std::int64_t spare = 0;  // members that it takes beyond those that are asked for
};

class TreePlacer {
 public:
  // All outlive it.
  TreePlacer(GroupCycle& groups, const PluginSet& plugins, TreeGrounds& grounds,
             const SchedulingContext& context, const TreeInput& input,
             model::Ledger::Transaction& transaction);
  TreePlacer(const TreePlacer&) = delete;
  TreePlacer& operator=(const TreePlacer&) = delete;

  bool has_minimum(std::size_t node) const { return outcome_.nodes[node].placed; }
  // Enough members or children exist.
  bool is_ready(std::size_t node) const { return needs_[node].ready; }
  // The minima of the root and of all below it that it needs. False: the transaction is unchanged. `shares`:
  // domains that are left to try, with this one.
  bool place_root(const Ground& ground, std::size_t shares);
  // Whatever else fits, where the minima are.
  void grow();
  // Forgets what was placed.
  void reset();
  // The same for one of many checks, which has steps of its own.
  void begin_check();
  // What all waiting members request.
  DomainUse requested() const;
  // Of the check, in members that are placed.
  std::size_t steps() const;

  // Members that were placed, and those that wait without a place.
  std::int64_t placed() const;
  std::int64_t unplaced() const;
  const std::string& error() const { return error_; }
  const std::optional<TreeObstacle>& obstacle() const { return obstacle_; }
  std::string_view unproved() const { return unproved_; }
  // Members of the group, and of all below it, that must be placed at least.
  std::int64_t asks(std::size_t node) const { return needs_[node].asks; }
  const TreeOutcome& outcome() const { return outcome_; }
  TreeOutcome take_outcome() {
    is_empty_ = false;
    return std::move(outcome_);
  }

 private:
  struct State {
    std::optional<Ground> ground;
    std::optional<std::size_t> kind;     // of a group with waiting members
    std::optional<std::size_t> devices;  // the same, if devices limit it: the demand of each member
    std::shared_ptr<const WaitingMembers> members;
  };
  void find_kinds(const PluginSet& plugins);
  void find_devices();
  void find_devices(std::size_t node, const std::set<model::ClaimId>& shared);
  bool place_minima(std::size_t node, const Ground& of_parent, const Ground* own, std::size_t shares);
  bool descend(std::span<const TreeUnit> units, const Ground& of_parent, const Ground* own,
               std::size_t shares);
  enum class Children : std::uint8_t { Oldest, All };
  void add_units(std::size_t node, std::optional<std::size_t> parent, std::int64_t left, Children which,
                 std::vector<TreeUnit>& units) const;
  std::vector<std::size_t> children_of(const TreeNode& node, std::int64_t needed, Children which) const;
  bool place(const TreeUnit& unit, const Ground& ground);
  void take_back(const TreeUnit& unit);
  // Members of groups that are placed at once, and what may be spent on it.
  struct Together {
    std::vector<GroupPart> parts;
    std::vector<std::size_t> nodes;  // of the tree, by part
    Budget& steps;
    Budget& choices;
  };
  Together together(std::span<const TreeUnit> units, const TreeDescent& descent,
                    std::span<const std::size_t> placed, Budget& steps, Budget& choices) const;
  GroupOutcome search_together(const Together& all, std::string_view& unproved);
  bool place_together(const Together& all);
  bool refute_together(const Together& some);
  void grow_node(std::size_t node);
  void grow_group(std::size_t node);
  void find_ground(std::size_t node);
  std::int64_t siblings_there(std::size_t node, const Ground& ground) const;
  void keep(std::span<const TreeUnit> units, const TreeDescent& descent);
  void note(std::span<const TreeUnit> units, const TreeDescent& descent);

  GroupCycle& groups_;
  TreeGrounds& grounds_;
  const SchedulingContext& context_;
  const TreeInput& input_;
  model::Ledger::Transaction& transaction_;
  std::vector<std::unique_ptr<GroupFit>> fits_;  // by kind
  std::vector<GroupFit*> kinds_;
  std::vector<std::unique_ptr<TreeDevices>> device_counts_;  // by demand
  std::vector<TreeDevices*> devices_;
  const std::vector<TreeNeed> needs_;  // by node
  std::vector<State> states_;          // the same
  std::vector<TreeUnit> units_;        // of the whole tree, with all children
  Budget descents_{kTreeDescentStepsMax}, placings_{kTreePlacingsMax}, choices_{kGroupStepsMax};
  std::vector<std::optional<model::Ledger::Transaction::Savepoint>> before_;  // by node: its minimum
  TreeOutcome outcome_;
  bool is_empty_ = false;  // nothing is placed in the outcome, and no group has a ground
  std::optional<TreeObstacle> obstacle_;
  std::string error_;
  std::string_view unproved_;
};

}  // namespace berth::placement
