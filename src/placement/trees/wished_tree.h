// The wishes of a tree's root, one after the other: all members in one domain of the first wished level, else
// of the next one. Inside each wish it tries the sets of devices that all members may have in common.
//
// The first attempt that places every member wins, else the one that places most. Owner: one TreeCycle::run,
// on one thread. Cost: one attempt for each wish and set of devices.
#pragma once

#include <functional>
#include <optional>

#include "placement/trees/tree_grounds.h"
#include "placement/wishes/same_devices.h"

namespace berth::placement {

// Sets of devices that are tried for one wished level; beyond, nothing is proved.
inline constexpr std::size_t kTreeValueSetsTriedMax = 16;

class WishedTree {
 public:
  // Places the tree, whatever its root wishes beyond these domains.
  using PlaceTree = std::function<TreeOutcome(TreeGrounds&)>;

  // All outlive it.
  WishedTree(const PluginSet& plugins, DomainIndex& domains, Placements placements,
             const SchedulingContext& context, const TreeInput& input,
             model::Ledger::Transaction& transaction, PlaceTree place_tree);

  WishedTree(const WishedTree&) = delete;
  WishedTree& operator=(const WishedTree&) = delete;

  TreeOutcome run();

 private:
  std::vector<std::size_t> wished_levels() const;
  // False: no other wish is tried.
  bool try_level(std::size_t levels);
  bool try_values(std::size_t levels, const SameDevices::Values* values);
  bool keep_if_better(TreeOutcome outcome, model::Plan plan);
  TreeOutcome refuse_by_devices();

  const PluginSet& plugins_;
  DomainIndex& domains_;
  const Placements placements_;
  const SchedulingContext& context_;
  const TreeInput& input_;
  model::Ledger::Transaction& transaction_;
  const PlaceTree place_tree_;
  // With a wish for the same devices: all members as one group, and the devices that they may have.
  api::PodGroup group_;
  std::optional<GroupInput> all_;
  std::optional<SameDevices> same_;
  std::int64_t needed_ = 0;  // members, of the minima
  std::optional<TreeOutcome> best_;
  model::Plan plan_;
  std::int64_t best_left_ = 0;
  std::string error_;
  bool proves_ = true;  // no set of devices was left out
};

}  // namespace berth::placement
