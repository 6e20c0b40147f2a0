// Groups and how far each is: pods with a node, and the domains that they are in.
//
// Pure. Cost: O(groups + pods of groups), times their logarithm where a group is in several domains.
#pragma once

#include "base/json.h"
#include "dashboard/floor_layout.h"

namespace berth::dashboard {

inline constexpr std::size_t kGroupsShownMax = 1000;
inline constexpr std::size_t kDomainsOfAGroupMax = 32;

// {"total","groups":[{"kind","namespace","name","parent","minimum","since","pods","bound","running",
// "domains":[{"path","pods"}],"rankCrossings"}]}, by namespace and name; `minimum` counts groups for a
// CompositePodGroup. A CompositePodGroup has no pods of its own. Of the domains those with the most pods.
// `rankCrossings` counts the neighbours on the ring of ranks (placement/wishes/ranks.h) in different domains
// of the innermost level.
Json groups_page(const client::View& view, const FloorLayout& layout);

}  // namespace berth::dashboard
