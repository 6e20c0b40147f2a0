// Places a tree of groups as if it were one group, by a wish about the pods of all its groups.
//
// Segments, ranks, `Balanced` and equal devices of a root are about all pods below it, whatever their groups.
// The members are those of the minima first, then those of children that are not needed, then the others. As
// many of them as possible are placed by WishSearch, the minima at least. If a composite group needs only
// some of its children, the oldest are tried first, then other choices.
// Owner: one TreeCycle::run, on one thread. Cost: one WishSearch for each number of members and each choice
// of children that is tried. Source: PlacementPolicy (docs/topology.md), KEP-6012.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "placement/trees/tree_needs.h"

namespace berth::placement {

// Groups and choices of children that are tried; beyond, nothing is proved.
inline constexpr std::size_t kWholeTreeNodesMax = 4'096;
inline constexpr std::size_t kWholeTreeChoicesMax = 64;
// Numbers of members, above the minima, of which each is tried; of more, halves of what is left.
inline constexpr std::size_t kWholeTreeSizesMax = 64;

// Whether a group below the root asks for a domain of its own, or has a policy of its own.
bool any_level_below_root(const TreeInput& input);
// Whether the root's wish is about the places of all its pods together.
bool is_placed_as_one(const TreeInput& input);
// Whether the minima of the tree are all its waiting members.
bool needs_all_members(const TreeInput& input);
// All members as one group that needs all who wait, with the root's wish. `group` outlives the result.
GroupInput whole_tree_input(const TreeInput& input, api::PodGroup& group);

// The members that the tree needs, and who comes after them.
class TreeMinima {
 public:
  struct Member {
    std::size_t node = 0;
    std::size_t at = 0;  // of GroupInput::waiting
    friend auto operator<=>(const Member&, const Member&) = default;
  };
  // Members in the order in which they get places.
  struct Order {
    std::vector<Member> members;
    std::vector<std::size_t> sizes;  // ascending: so many of them may be placed; the first: the minima
  };
  struct Orders {
    std::vector<Order> all;  // by choice of the children that composite groups need, the oldest first
    bool complete = true;    // false: there are more, or more nodes, than are tried
  };

  explicit TreeMinima(const TreeInput& input) : input_(input), needs_(needs_of(input)) {}

  // None if too few members or children exist.
  Orders orders() const;

 private:
  using Nodes = std::vector<std::size_t>;
  struct Choices {
    std::vector<Nodes> all;
    bool complete = true;
  };
  Choices choices(std::size_t node) const;
  void choose(std::span<const std::size_t> children, std::int64_t needed, Nodes& chosen,
              Choices& found) const;
  void add_oldest(std::size_t node, Nodes& nodes) const;
  void add_minima(const Nodes& nodes, std::vector<bool>& has, Order& order) const;
  Order order_of(const Nodes& choice) const;

  const TreeInput& input_;
  const std::vector<TreeNeed> needs_;  // by node
};

class WholeTree {
 public:
  // All outlive it.
  WholeTree(GroupCycle& groups, DomainIndex& domains, Placements placements, const SchedulingContext& context,
            const TreeInput& input, model::Ledger::Transaction& transaction);
  TreeOutcome run();

 private:
  using Member = TreeMinima::Member;
  // So many members found places.
  struct Fit {
    std::size_t size = 0;  // index in Order::sizes
    GroupOutcome outcome = {};
  };
  std::optional<Fit> place_least(const TreeMinima::Order& order);
  // Places the minima of the choice. None: they find no place.
  std::optional<GroupOutcome> place_minima(const TreeMinima::Order& order);
  // Places exactly so many of them.
  std::optional<GroupOutcome> place(std::span<const Member> members);
  TreeOutcome place_more(const TreeMinima::Order& order, Fit fit,
                         model::Ledger::Transaction::Savepoint before);
  GroupInput input_of(std::span<const Member> members);
  TreeOutcome accept(std::span<const Member> members, GroupOutcome outcome);
  void refuse_the_rest(TreeOutcome& outcome);
  TreeOutcome refuse();

  GroupCycle& groups_;
  DomainIndex& domains_;
  const Placements placements_;
  const SchedulingContext& context_;
  const TreeInput& input_;
  model::Ledger::Transaction& transaction_;
  api::PodGroup group_;
  const GroupInput all_;
  std::optional<GroupOutcome> refused_;  // of the first choice
  std::string_view unproved_;
  bool failed_ = false;  // `refused_` is an error
};

}  // namespace berth::placement
