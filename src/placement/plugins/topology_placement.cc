// TopologyPlacement: one placement per value of the topology key; if members have a node, only their domain.
// Source: KEP-5732. Nodes without the label are in no placement.
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

const std::string kUndetermined = "cannot determine domain for already scheduled pods: ";

Placement placement_of(const topology::Tree& tree, topology::DomainId domain) {
  return {tree.path_of(domain), domain, tree.domain(domain).nodes, nullptr, {}};
}

class TopologyPlacement final : public PlacementGenerator {
 public:
  Result<std::vector<Placement>> generate(const PlacementQuestion& question) const override {
    if (!question.tree)
      return std::vector<Placement>{{"", topology::DomainId::none(), question.all_nodes, nullptr, {}}};
    const topology::Tree& tree = *question.tree;
    topology::DomainId pinned;
    for (std::size_t i = 0; i < question.occupied.size(); ++i) {
      const topology::DomainId here = tree.leaf_of(question.occupied[i]);
      if (!here.valid()) {
        const api::ObjectMeta& pod = question.placed[i]->meta;
        return Error(ErrorCode::Conflict,
                     kUndetermined + "no topology domain found for pod " + pod.ns + "/" + pod.name);
      }
      if (pinned.valid() && pinned != here)
        return Error(ErrorCode::Conflict, kUndetermined + "they span " + tree.path_of(pinned) + " and " +
                                              tree.path_of(here) + " of " + tree.keys().back());
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

}  // namespace berth::placement::plugins
