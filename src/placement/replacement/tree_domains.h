// The domains that the groups above a PodGroup keep it in: where its members may be replaced.
//
// Pure. Of each CompositePodGroup above, the keys that its constraints and its policy require count. Pods
// below it whose nodes are there share one domain of them; where they do not, they keep nobody. Cost:
// O(nodes) and O(pods of the tree).
#pragma once

#include <vector>

#include "placement/wishes/policy_wishes.h"

namespace berth::placement {

// Nodes outside of these domains, ascending.
std::vector<NodeId> outside_of_tree(const client::View& view, const model::Cluster& cluster,
                                    const OwnersOf& owners, const api::PodGroup& group);

}  // namespace berth::placement
