// The part of Intake that is about PlacementPolicies and Topologies: which groups they name, and which of
// those are looked at again.
#include <algorithm>

#include "scheduling/intake.h"

namespace berth::scheduling {
namespace {

using placement::KnownOwners;
using placement::WishAnswer;

GroupKey group_key(const api::PodGroup& group) {
  return {group.meta.ns, group.meta.name, EntityKind::Group};
}
GroupKey group_key(const api::CompositePodGroup& group) {
  return {group.meta.ns, group.meta.name, EntityKind::CompositeGroup};
}

WishAnswer answer_for(const client::View& view, const placement::OwnersOf& owners, const GroupKey& key) {
  if (key.kind == EntityKind::Group) {
    const api::PodGroup* group = view.pod_groups.find(key.ns, key.name);
    return group ? placement::wish_of(view, owners, *group) : WishAnswer{};
  }
  const api::CompositePodGroup* group = view.composite_groups.find(key.ns, key.name);
  return group ? placement::wish_of(view, owners, *group) : WishAnswer{};
}

// Every group of the namespace; of all namespaces for an empty one.
std::vector<GroupKey> groups_in(const client::View& view, const std::string& ns) {
  std::vector<GroupKey> groups;
  const auto add = [&](const auto& all) {
    for (auto at = all.lower_bound({ns, ""}); at != all.end() && (ns.empty() || at->first.ns == ns); ++at)
      groups.push_back(group_key(*at->second));
  };
  add(view.composite_groups.all());
  add(view.pod_groups.all());
  return groups;
}

bool same_labels(const api::Node* before, const api::Node* after) {
  return before && after && before->meta.labels == after->meta.labels;
}

}  // namespace

void Intake::resolve(const client::View& view, const GroupKey& group, Time now) {
  if (view.placement_policies.size() == 0 && loop_.policy_members.empty()) return;
  const WishAnswer answer = answer_for(
      view,
      [&](const std::string& ns, const api::OwnerReference& object) {
        return loop_.owners.ask(ns, object, group, now);
      },
      group);
  std::vector<std::string> policies;
  for (const api::PlacementPolicy* policy : answer.policies) policies.push_back(policy->meta.name);
  // The policy of a root says whether the groups below it permit what it asks.
  loop_.statuses_changed(view, group, now);
  for (const std::string& policy : policies) loop_.policy_statuses.policy_changed(group.ns, policy, now);
  loop_.policy_members.set(group, std::move(policies));
  look_at(view, group, now);
}

// A policy about the PodGroup, or about a CompositePodGroup above it.
bool Intake::has_replacing_policy(const client::View& view, const GroupKey& group) const {
  return std::ranges::any_of(with_those_above(view, group), [&](const GroupKey& named) {
    return std::ranges::any_of(loop_.policy_members.policies_of(named), [&](const std::string& name) {
      const api::PlacementPolicy* policy = view.placement_policies.find(named.ns, name);
      return policy && policy->replaces_failed_nodes;
    });
  });
}

// Its members, or those of the groups below it, may have lost their places, or have them again.
void Intake::look_at(const client::View& view, const GroupKey& group, Time now) {
  if (group.kind == EntityKind::CompositeGroup) {
    for (const api::PodGroup* below : client::groups_below(view, group.ns, group.name))
      look_at(view, group_key(*below), now);
    return;
  }
  if (has_replacing_policy(view, group) || loop_.replacements.find(group) ||
      loop_.replacements.reports().contains(group))
    loop_.replacements.want_look(group, now + kPlacesSettle);
}

void Intake::look_at_all(const client::View& view, Time now) {
  for (const auto& [key, policy] : view.placement_policies.all())
    if (policy->replaces_failed_nodes)
      for (const GroupKey& group : loop_.policy_members.groups_of({key.ns, key.name}))
        look_at(view, group, now);
}

void Intake::places_changed(const client::View& view, const client::Delta& delta, Time now) {
  if (loop_.policy_members.empty()) return;
  const auto* before = client::object_of<api::Node>(delta.before);
  const auto* after = client::object_of<api::Node>(delta.after);
  const auto ready = [](const api::Node* node) {
    const api::Condition* condition = node ? api::find_condition(node->conditions, "Ready") : nullptr;
    return condition ? condition->status : "";
  };
  const bool same_place = before && after && ready(before) == ready(after) &&
                          placement::same_taints(before->taints, after->taints);
  if (same_place) return;
  for (const api::Pod* pod : view.pods_on_node(delta.key.name))
    if (!pod->group.empty()) look_at(view, {pod->meta.ns, pod->group, EntityKind::Group}, now);
  for (const auto& [group, report] : loop_.replacements.reports()) look_at(view, group, now);
}

void Intake::resolve_under(const client::View& view, const std::string& ns, const std::string& composite,
                           Time now) {
  if (view.placement_policies.size() == 0 && loop_.policy_members.empty()) return;
  std::vector<std::string> level{composite};
  for (std::size_t depth = 0; depth < client::kTreeLevelsMax && !level.empty(); ++depth) {
    std::vector<std::string> next;
    for (const std::string& name : level) {
      resolve(view, {ns, name, EntityKind::CompositeGroup}, now);
      for (const api::PodGroup* group : view.groups_under(ns, name)) resolve(view, group_key(*group), now);
      for (const api::CompositePodGroup* child : view.composites_under(ns, name))
        next.push_back(child->meta.name);
    }
    level = std::move(next);
  }
}

void Intake::resolve_all(const client::View& view, Time now) {
  namespaces_stamp_ = loop_.cluster.affinities().namespaces_stamp();
  selectors_stamp_ = loop_.cluster.replica_selectors().stamp();
  if (view.placement_policies.size() > 0)
    for (const GroupKey& group : groups_in(view, "")) resolve(view, group, now);
  for (const auto& [key, policy] : view.placement_policies.all())
    loop_.policy_statuses.policy_changed(key.ns, key.name, now);
  loop_.policy_statuses.nodes_changed(view, now);
}

void Intake::wake_group(const client::View& view, const GroupKey& group, Time now) {
  EntityKey entry = group;
  if (group.kind == EntityKind::Group)
    entry = loop_.entry_of_group(view, group.ns, group.name);
  else
    entry.name = client::tree_top(view, group.ns, group.name).name;
  loop_.dirty.insert(entry);
  loop_.queue.wake_one(entry, now);
}

void Intake::owners_read(const client::View& view, const GroupKey& group, Time now) {
  resolve(view, group, now);
  wake_group(view, group, now);
}

// A policy about an owner holds every group whose owners are not known yet, so all groups of the namespace
// are looked at then; of another policy those that it names, or named.
void Intake::policy_changed(const client::View& view, const client::Delta& delta, Time now) {
  const std::string &ns = delta.key.ns, &name = delta.key.name;
  loop_.policy_statuses.policy_changed(ns, name, now);
  const auto* before = client::object_of<api::PlacementPolicy>(delta.before);
  const auto* after = client::object_of<api::PlacementPolicy>(delta.after);
  if (before && after && before->meta.uid == after->meta.uid &&
      before->meta.generation == after->meta.generation && after->meta.generation > 0)
    return;
  const bool of_owner =
      (before && !api::is_about_groups(before->target)) || (after && !api::is_about_groups(after->target));
  const auto names = [&](const GroupKey& group) {
    const std::vector<std::string>& policies = loop_.policy_members.policies_of(group);
    return std::find(policies.begin(), policies.end(), name) != policies.end();
  };
  for (const GroupKey& group : loop_.policy_members.groups_of({ns, name})) look_at(view, group, now);
  for (const GroupKey& group : groups_in(view, ns)) {
    const bool named = names(group);
    resolve(view, group, now);
    if (named || of_owner || names(group)) wake_group(view, group, now);
  }
}

void Intake::topology_changed(const client::View& view, const client::Delta& delta, Time now) {
  loop_.policy_statuses.changed(delta.key, now);
  const auto* before = client::object_of<api::Topology>(delta.before);
  const auto* after = client::object_of<api::Topology>(delta.after);
  if (before && after && before->levels == after->levels) return;
  for (const api::PlacementPolicy* policy : view.policies_with_topology(delta.key.name)) {
    loop_.policy_statuses.policy_changed(policy->meta.ns, policy->meta.name, now);
    for (const GroupKey& group : loop_.policy_members.groups_of({policy->meta.ns, policy->meta.name}))
      wake_group(view, group, now);
  }
}

// The statuses of the policies of its group, and of those above it.
void Intake::member_moved(const client::View& view, const client::Delta& delta, Time now) {
  if (loop_.policy_members.empty()) return;
  const auto* before = client::object_of<api::Pod>(delta.before);
  const auto* after = client::object_of<api::Pod>(delta.after);
  if (before && after && before->node_name == after->node_name && before->group == after->group &&
      before->finished() == after->finished() && before->meta.deleting() == after->meta.deleting())
    return;
  for (const api::Pod* pod : {before, after}) {
    if (!pod || pod->group.empty()) continue;
    const GroupKey group{pod->meta.ns, pod->group, EntityKind::Group};
    loop_.statuses_changed(view, group, now);
    look_at(view, group, now);
  }
}

void Intake::labels_changed(const client::View& view, const client::Delta& delta, Time now) {
  const auto* before = client::object_of<api::Node>(delta.before);
  const auto* after = client::object_of<api::Node>(delta.after);
  if (same_labels(before, after)) return;
  loop_.policy_statuses.nodes_changed(view, now);
  if (before && after)
    for (const auto& [key, policy] : view.placement_policies.all())
      loop_.policy_statuses.policy_changed(key.ns, key.name, now);
}

}  // namespace berth::scheduling
