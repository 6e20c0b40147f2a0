// Whether the rest of a gang's decision reaches the minimum of every group whose pods it would bind. These
// are its PodGroup, or in a tree each of its PodGroups and all groups above them.
//
// Pure. Cost: O(pods of the gang, or of the tree). Source: KEP-4671 (gang), KEP-6012 (trees).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "client/view.h"

namespace berth::binding {

// Of one PodGroup of the decision.
struct GangShare {
  std::size_t left = 0;    // members that are bound or may be
  std::size_t coming = 0;  // that may still get a BindRequest
};

struct GangShares {
  std::map<std::string, GangShare, std::less<>> groups;  // by the PodGroup's name
  std::set<std::string_view> counted;                    // UIDs of the pods in `left`
};

// The PodGroups of the gang: that of the key, or all in the tree of the CompositePodGroup.
std::vector<const api::PodGroup*> groups_of_gang(const client::View& view, const api::ObjectKey& gang);
// Members that are bound already count, too. A group that is not in the view has no minimum that could be
// reached.
bool reaches_minima(const client::View& view, const api::ObjectKey& gang, const GangShares& shares);
bool lives(const api::Pod& pod);

}  // namespace berth::binding
