// Where the groups of a tree may be placed: for each the domains of its level inside the domain of its
// parent.
//
// A level inside another is a chain of label keys, outermost first; a domain of it is a leaf of the chain's
// topology. Owner: one TreeCycle::run, on one thread. Cost: a chain once O(domains), by name.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "placement/trees/tree_input.h"

namespace berth::placement {

// Chains of one tree.
inline constexpr std::size_t kTreeChainsMax = kTopologiesMax - 4;

// A place for a group, or for all groups below a composite one.
struct Ground {
  std::size_t chain = 0;  // the first has no keys: the whole cluster
  const Placement* placement = nullptr;
};

class TreeGrounds {
 public:
  // All outlive it. `root_levels`: of the root's wish, that must hold.
  TreeGrounds(const PluginSet& plugins, DomainIndex& domains, const SchedulingContext& context,
              const TreeInput& input, Placements placements, std::size_t root_levels = 0);

  // Not empty: the tree cannot be placed at all.
  const std::string& error() const { return error_; }
  std::size_t chain_count() const { return chains_.size(); }
  Topology& topology(std::size_t chain) { return *chains_[chain].topology; }
  // For GroupTrial: null for the whole cluster.
  Topology* topology_of(const Ground& ground) {
    return ground.chain == 0 ? nullptr : chains_[ground.chain].topology.get();
  }
  // Of the whole cluster: its root.
  static topology::DomainId domain_of(const Placement& placement) {
    return placement.domain.valid() ? placement.domain : topology::Tree::root();
  }
  // Its placement is null in a cluster without nodes.
  Ground whole_cluster() const;
  // Whether the node has a level of its own; if not, it has its parent's ground.
  bool chooses(std::size_t node) const { return chain_of_[node] != chain_of_parent(node); }
  std::size_t chain_of(std::size_t node) const { return chain_of_[node]; }
  // By path: the domains of the chain inside one of an outer chain.
  std::span<const Placement* const> inside(std::size_t chain, const Ground& outer);
  // The same of a node that chooses. If members below it have a place, their domain alone.
  std::span<const Placement* const> candidates(std::size_t node, const Ground& of_parent);
  // The ground itself, and the domains of outer chains that contain it.
  const std::vector<Ground>& around(const Ground& ground);

 private:
  struct Chain {
    std::vector<std::string> keys;
    std::shared_ptr<Topology> topology;
    std::vector<Placement> all;
    std::vector<const Placement*> by_path;    // those inside an outer domain are neighbours
    std::vector<std::vector<Ground>> around;  // as `all`; empty: not known yet
  };
  std::size_t chain_of_parent(std::size_t node) const;
  std::size_t find_chain(std::vector<std::string> keys);
  static const std::string& path_of(const Chain& chain, const Placement& placement);
  // Of the domain so many levels above.
  static const std::string& path_above(const Chain& chain, const Placement& placement, std::size_t levels);
  // The first whose path is not less.
  static std::vector<const Placement*>::const_iterator place_of(const Chain& chain, std::string_view path);
  // Of the members below the node that have a place; none: there are no such members.
  Result<std::vector<Placement>> pinned(std::size_t node) const;

  const PluginSet& plugins_;
  DomainIndex& domains_;
  const SchedulingContext& context_;
  const TreeInput& input_;
  std::vector<Chain> chains_;
  std::vector<std::size_t> chain_of_;                    // by node
  std::map<std::size_t, topology::DomainId> pinned_to_;  // by node
  std::string error_;
};

}  // namespace berth::placement
