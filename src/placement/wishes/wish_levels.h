// The levels that a group's wish speaks of, as chains of label keys, and in which order they are tried.
//
// A level is named by its depth: so many keys of the group's chain, outermost first; 0 is the whole cluster.
// The group's own key is the outermost, unless it is a level of the wish's topology: then that level is
// required. Owner: one decision. Cost: as DomainIndex::topology for each level in use.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "placement/groups/group_cycle.h"

namespace berth::placement {

// One turn of the search: all members in one domain of a level, in parts of an inner level.
struct WishRung {
  std::size_t depth = 0;
  std::size_t parts = 0;                  // 0: not in parts
  std::vector<std::size_t> parents = {};  // wished levels between them, first wish first
};

class WishLevels {
 public:
  // `own`: the topology keys of the group; the first counts. All outlive it.
  WishLevels(std::span<const std::string> own, const GroupWish& wish, Placements placements,
             DomainIndex& domains, const model::Cluster& cluster);
  // Nothing is required: the nodes have it already.
  void forget_required() { required_ = 0; }

  // The depth that one domain for all must have.
  std::size_t required() const { return required_; }
  std::size_t depth_of(std::size_t level) const { return outside_ + level + 1; }
  std::size_t levels_of(const WishRung& rung) const { return rung.depth - std::min(rung.depth, outside_); }
  // Wishes that come to the same as one before them, or are narrower, are left out. The last rung is what is
  // required.
  std::vector<WishRung> rungs() const;
  // Up to date, with this depth.
  Topology& topology(std::size_t depth);

 private:
  const GroupWish& wish_;
  DomainIndex& domains_;
  const model::Cluster& cluster_;
  std::vector<std::string> keys_;  // up to the narrowest level in use
  std::size_t outside_ = 0;        // keys before the levels'
  std::size_t required_ = 0;
};

// Of the wish's levels, the outermost that are required: by the policy, or because one has a key of the
// group's own.
std::size_t required_levels(std::span<const std::string> own, const GroupWish& wish);
// The ancestor of a domain at a depth above it.
topology::DomainId domain_above(const topology::Tree& tree, topology::DomainId domain, std::size_t depth);

}  // namespace berth::placement
