#include "scheduling/keepers/policy_members.h"

namespace berth::scheduling {

void PolicyMembers::set(const GroupKey& group, std::vector<std::string> policies) {
  if (const auto known = policies_.find(group); known != policies_.end()) {
    if (known->second == policies) return;
    for (const std::string& policy : known->second) {
      const auto groups = groups_.find({group.ns, policy});
      groups->second.erase(group);
      if (groups->second.empty()) groups_.erase(groups);
    }
    policies_.erase(known);
  }
  if (policies.empty()) return;
  for (const std::string& policy : policies) groups_[{group.ns, policy}].insert(group);
  policies_[group] = std::move(policies);
}

const std::vector<std::string>& PolicyMembers::policies_of(const GroupKey& group) const {
  static const std::vector<std::string> kNone;
  const auto found = policies_.find(group);
  return found == policies_.end() ? kNone : found->second;
}

const std::set<GroupKey>& PolicyMembers::groups_of(const client::NamedKey& policy) const {
  static const std::set<GroupKey> kNone;
  const auto found = groups_.find(policy);
  return found == groups_.end() ? kNone : found->second;
}

}  // namespace berth::scheduling
