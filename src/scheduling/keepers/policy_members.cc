#include "scheduling/keepers/policy_members.h"

#include "client/group_tree.h"

namespace berth::scheduling {
namespace {

using placement::EntityKind;

std::string_view parent_of(const client::View& view, const GroupKey& key) {
  const api::PodGroup* group =
      key.kind == EntityKind::Group ? view.pod_groups.find(key.ns, key.name) : nullptr;
  if (group) return group->parent;
  const api::CompositePodGroup* composite = view.composite_groups.find(key.ns, key.name);
  return composite && key.kind == EntityKind::CompositeGroup ? std::string_view(composite->parent) : "";
}

}  // namespace

std::vector<GroupKey> with_those_above(const client::View& view, const GroupKey& group) {
  std::vector<GroupKey> groups{group};
  for (const api::CompositePodGroup* above : client::groups_above(view, group.ns, parent_of(view, group)))
    groups.push_back({above->meta.ns, above->meta.name, EntityKind::CompositeGroup});
  return groups;
}

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
