// TopologyPlacement: one placement per value of the topology key; members that have a place pin its domain.
// Source: KEP-5732. Nodes without the label are in no placement.
#include "scheduling/plugins/plugins.h"

namespace berth::scheduling::plugins {
namespace {

Placement placement_of(const topology::Tree& tree, topology::DomainId domain) {
  return {tree.path_of(domain), domain, tree.domain(domain).nodes};
}

class TopologyPlacement final : public PlacementGenerator {
 public:
  Result<std::vector<Placement>> generate(const PlacementQuestion& question) const override {
    if (!question.tree) return std::vector<Placement>{{"", topology::DomainId::none(), question.all_nodes}};
    const topology::Tree& tree = *question.tree;
    topology::DomainId pinned;
    for (const NodeId node : question.occupied) {
      const topology::DomainId here = tree.leaf_of(node);
      if (!here.valid())
        return Error(ErrorCode::Conflict,
                     "a scheduled pod of the group runs on a node without the label " + tree.keys().back());
      if (pinned.valid() && pinned != here)
        return Error(ErrorCode::Conflict, "scheduled pods of the group span more than one domain of " +
                                              tree.keys().back() + ": " + tree.path_of(pinned) + " and " +
                                              tree.path_of(here));
      pinned = here;
    }
    std::vector<Placement> placements;
    if (pinned.valid()) {
      placements.push_back(placement_of(tree, pinned));
      return placements;
    }
    for (const topology::DomainId domain : tree.leaves()) placements.push_back(placement_of(tree, domain));
    return placements;
  }
};

}  // namespace

std::unique_ptr<PlacementGenerator> topology_placement() {
  return std::make_unique<TopologyPlacement>();
}

}  // namespace berth::scheduling::plugins
