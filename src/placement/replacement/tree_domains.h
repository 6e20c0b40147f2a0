// What the groups above a PodGroup say about the replacement of its members: whether their policies ask for
// it, and in which domains it has to stay.
//
// Pure. Of each CompositePodGroup above, the keys that its constraints and its policy require count. Pods
// below it whose nodes are there share one domain of them; where they do not, they keep nobody. A policy that
// replaces failed nodes keeps them in the narrowest domain of its levels that they share, wished ones
// included. Nodes that fail say nothing while a pod below is on another one. Cost: O(nodes) and O(pods of the
// tree).
#pragma once

#include <vector>

#include "placement/wishes/policy_wishes.h"

namespace berth::placement {

// Whether a policy about a CompositePodGroup above the group has `replaceFailedNodes`.
bool is_replaced_by_tree(const client::View& view, const OwnersOf& owners, const api::PodGroup& group);
// Nodes outside of these domains, ascending.
std::vector<NodeId> outside_of_tree(const client::View& view, const model::Cluster& cluster,
                                    const OwnersOf& owners, const api::PodGroup& group);
// Waiting members of the groups that a policy of their own, or one above, replaces avoid failing nodes. The
// tree has its wishes. Cost: that of avoid_failing_nodes() for all of them.
void avoid_failing_nodes(const model::Cluster& cluster, TreeInput& tree);

}  // namespace berth::placement
