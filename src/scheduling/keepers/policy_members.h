// Which groups the PlacementPolicies name, as last resolved: to find the groups of a policy that changed.
//
// Owner: the scheduler, one thread. Cost: O(log n) a call. Memory: proportional to the groups with policies.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "client/view.h"
#include "placement/entity.h"

namespace berth::scheduling {

// Of a PodGroup or a CompositePodGroup itself, not of its tree.
using GroupKey = placement::EntityKey;
// The group, and the CompositePodGroups above it that exist.
std::vector<GroupKey> with_those_above(const client::View& view, const GroupKey& group);

class PolicyMembers {
 public:
  // Replaces the policies of the group; none forgets it.
  void set(const GroupKey& group, std::vector<std::string> policies);
  const std::vector<std::string>& policies_of(const GroupKey& group) const;
  const std::set<GroupKey>& groups_of(const client::NamedKey& policy) const;
  bool empty() const { return policies_.empty(); }

 private:
  std::map<GroupKey, std::vector<std::string>> policies_;
  std::map<client::NamedKey, std::set<GroupKey>> groups_;
};

}  // namespace berth::scheduling
