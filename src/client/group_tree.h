// Trees of groups (KEP-6012): the root of a PodGroup, and where the outcome of a decision is recorded.
//
// A tree is known by the name where the walk over parents ends, whether such an object exists or not: all its
// PodGroups then wait together. Cost: O(log n) for each level.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/types/gang_decision.h"
#include "client/view.h"

namespace berth::client {

// CompositePodGroups above a PodGroup, and the PodGroup.
inline constexpr std::size_t kTreeLevelsMax = 4;

// Where the walk from a group over its parents ends.
struct TreeTop {
  enum class End : std::uint8_t { Root, Missing, TooDeep };
  std::string name;  // of a CompositePodGroup; empty: the group has no parent
  End end = End::Root;
};
TreeTop tree_top(const View& view, const api::PodGroup& group);
// Of the tree that this CompositePodGroup is in, whether it exists or not.
TreeTop tree_top(const View& view, std::string_view ns, std::string_view composite);

// The CompositePodGroups above a group that exist, its parent first; at most kTreeLevelsMax - 1.
std::vector<const api::CompositePodGroup*> groups_above(const View& view, const api::PodGroup& group);
std::vector<const api::CompositePodGroup*> groups_above(const View& view, std::string_view ns,
                                                        std::string_view parent);
// The PodGroups below the CompositePodGroup of this name, those of its own first; of at most
// kTreeLevelsMax - 1 CompositePodGroups on a path, each once: a circle of parents ends. Cost: O(log n) each.
std::vector<const api::PodGroup*> groups_below(const View& view, std::string_view ns,
                                               std::string_view composite);

// The object whose status has the outcome of the request's decision: the root of its tree, else its PodGroup.
// Nothing if the view lacks it or has another UID.
std::optional<api::GangRegister> register_of(const View& view, const api::BindRequest& request);
api::ObjectKey register_key(const api::BindRequest& request);
// Without a register, Undecided: unless a member of the decision is bound, or records the commit. A member is
// bound after the commit alone, so the register was deleted since.
api::GangOutcome outcome_of(const View& view, const api::BindRequest& request);

}  // namespace berth::client
