// TopologyPlacement: one placement per value of the topology key; if members have a node, only their domain,
// as it was recorded when they were decided.
// Source: KEP-5732. Nodes without the label are in no placement.
#include "api/types/group_domain.h"
#include "placement/plugins/plugins.h"

namespace berth::placement::plugins {
namespace {

const std::string kUndetermined = "cannot determine domain for already scheduled pods: ";

Placement placement_of(const topology::Tree& tree, topology::DomainId domain) {
  return {tree.path_of(domain), domain, tree.domain(domain).nodes, nullptr, {}};
}

// Where a member with a node is: as recorded when it was decided, else as its node is labelled now.
class MemberDomains {
 public:
  explicit MemberDomains(const PlacementQuestion& question) : question_(question) {}

  Result<topology::DomainId> of(std::size_t member) {
    const topology::Tree& tree = *question_.tree;
    const bool known = member < question_.recorded.size();
    const std::string_view record = known ? std::string_view(question_.recorded[member]) : std::string_view();
    const std::optional<std::string> path = api::recorded_path(record, tree.keys());
    const topology::DomainId own = tree.leaf_of(question_.occupied[member]);
    const topology::DomainId here = path ? find(*path, own) : own;
    if (here.valid()) return here;
    const api::ObjectMeta& pod = question_.placed[member]->meta;
    return Error(ErrorCode::Conflict,
                 kUndetermined + "no topology domain found for pod " + pod.ns + "/" + pod.name +
                     (path ? ", which was placed in " + *path + " of " + tree.keys().back() : ""));
  }

 private:
  // Few nodes are relabelled, so the node's own domain comes first.
  topology::DomainId find(const std::string& path, topology::DomainId own) {
    if (path == path_) return domain_;
    const topology::Tree& tree = *question_.tree;
    path_ = path;
    if (own.valid() && tree.path_of(own) == path) return domain_ = own;
    domain_ = topology::DomainId::none();
    for (const topology::DomainId leaf : tree.leaves())
      if (tree.path_of(leaf) == path) domain_ = leaf;
    return domain_;
  }

  const PlacementQuestion& question_;
  std::string path_;  // of domain_
  topology::DomainId domain_;
};

class TopologyPlacement final : public PlacementGenerator {
 public:
  Result<std::vector<Placement>> generate(const PlacementQuestion& question) const override {
    if (!question.tree)
      return std::vector<Placement>{{"", topology::DomainId::none(), question.all_nodes, nullptr, {}}};
    const topology::Tree& tree = *question.tree;
    topology::DomainId pinned;
    MemberDomains domains(question);
    for (std::size_t i = 0; i < question.occupied.size(); ++i) {
      const topology::DomainId here = TRY(domains.of(i));
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
