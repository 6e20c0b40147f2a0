#include "placement/wishes/policy_wishes.h"

#include <algorithm>
#include <array>
#include <set>

#include "api/serialized.h"
#include "base/name_list.h"
#include "client/group_tree.h"
#include "placement/wishes/wish_levels.h"

namespace berth::placement {
namespace {

using api::PlacementPolicy;
using api::PlacementTarget;
using Policies = std::vector<const PlacementPolicy*>;

constexpr std::array<std::string_view, 5> kFaultNames = {"ConflictingPolicies", "TopologyNotFound",
                                                         "UnknownLevel", "NotForComposites", "OwnersUnread"};

// What the rules need of a PodGroup or of a CompositePodGroup.
struct NamedGroup {
  const api::ObjectMeta* meta = nullptr;
  std::string_view kind;
  std::string_view workload, parent;
};

NamedGroup named(const api::PodGroup& group) {
  return {&group.meta, "PodGroup", group.workload, group.parent};
}
NamedGroup named(const api::CompositePodGroup& group) {
  return {&group.meta, "CompositePodGroup", group.workload, group.parent};
}

bool has_policies(const client::View& view, const std::string& ns) {
  const auto& all = view.placement_policies.all();
  const auto first = all.lower_bound({ns, ""});
  return first != all.end() && first->first.ns == ns;
}

void add_policies(const Policies& found, Policies& to) {
  for (const PlacementPolicy* policy : found)
    if (std::find(to.begin(), to.end(), policy) == to.end()) to.push_back(policy);
}

struct OwnerPolicies {
  Policies policies;
  std::optional<WishFault> unknown;  // an owner was not read yet
};

// The policies of the group's owners, of every level.
OwnerPolicies of_owners(const client::View& view, const OwnersOf& owners_of, const NamedGroup& group) {
  OwnerPolicies found;
  const std::string& ns = group.meta->ns;
  const Policies about_owners = view.policies_about_owners(ns);
  if (about_owners.empty()) return found;
  std::vector<api::OwnerReference> level = group.meta->owners;
  if (!group.workload.empty())
    level.push_back({std::string(api::kGroupsApi) + "/v1beta1", "Workload", std::string(group.workload), ""});
  std::set<PlacementTarget> seen;
  for (std::size_t depth = 0; depth < kOwnerLevelsMax && !level.empty(); ++depth) {
    std::vector<api::OwnerReference> next;
    for (const api::OwnerReference& owner : level) {
      const PlacementTarget target = api::target_of(owner);
      if (seen.size() == kOwnersOfGroupMax || api::is_about_groups(target) || !seen.insert(target).second)
        continue;
      add_policies(view.policies_about(ns, target), found.policies);
      if (depth + 1 == kOwnerLevelsMax) continue;
      const KnownOwners above = owners_of(ns, owner);
      next.insert(next.end(), above.owners.begin(), above.owners.end());
      if (above.state == KnownOwners::State::Unread && !found.unknown)
        found.unknown =
            WishFault{WishFault::Kind::OwnersUnread, about_owners.front()->meta.name, api::to_text(target)};
    }
    level = std::move(next);
  }
  return found;
}

// Those of the groups above: they are about their whole tree.
Policies of_parents(const client::View& view, const OwnersOf& owners_of, const NamedGroup& group) {
  Policies found;
  for (const api::CompositePodGroup* above : client::groups_above(view, group.meta->ns, group.parent))
    add_policies(of_owners(view, owners_of, named(*above)).policies, found);
  return found;
}

// The levels that a wish is about. Without a Topology of the name `default`, labels are levels by themselves:
// the required one is the broadest, the first wish the narrowest.
std::vector<WishLevel> levels_of(const api::Topology* topology, const PlacementPolicy& policy) {
  std::vector<WishLevel> levels;
  if (topology) {
    for (const api::TopologyLevel& level : topology->levels) levels.push_back({level.name, level.node_label});
    return levels;
  }
  const auto add = [&](const std::string& label) {
    const auto known = [&](const WishLevel& level) { return level.key == label; };
    if (!label.empty() && std::none_of(levels.begin(), levels.end(), known)) levels.push_back({label, label});
  };
  add(policy.required);
  for (auto level = policy.preferred.rbegin(); level != policy.preferred.rend(); ++level) add(*level);
  if (policy.segments) add(policy.segments->level);
  if (levels.size() > kWishLevelsMax) levels.resize(kWishLevelsMax);
  return levels;
}

// Whether every level that the policy names can be a label: with a prefix, or one of Kubernetes' own.
bool names_labels_alone(const PlacementPolicy& policy) {
  const auto is_label = [](const std::string& level) {
    return level.empty() || level.find('/') != std::string::npos;
  };
  return is_label(policy.required) && (!policy.segments || is_label(policy.segments->level)) &&
         std::all_of(policy.preferred.begin(), policy.preferred.end(), is_label);
}

std::optional<std::size_t> index_of(const std::vector<WishLevel>& levels, std::string_view name) {
  for (std::size_t i = 0; i < levels.size(); ++i)
    if (levels[i].name == name) return i;
  for (std::size_t i = 0; i < levels.size(); ++i)
    if (levels[i].key == name) return i;
  return std::nullopt;
}

WishFault unknown_level(const PlacementPolicy& policy, std::string field, const std::string& level,
                        const std::vector<WishLevel>& levels) {
  WishFault fault{WishFault::Kind::UnknownLevel, policy.meta.name, level, std::move(field)};
  fault.others.emplace_back(policy.topology_name());
  for (const WishLevel& one : levels) fault.others.push_back(one.name);
  return fault;
}

WishAnswer answer_of(const client::View& view, const OwnersOf& owners_of, const NamedGroup& group) {
  const std::string& ns = group.meta->ns;
  if (!has_policies(view, ns)) return {};
  Policies policies =
      view.policies_about(ns, {std::string(api::kGroupsApi), std::string(group.kind), group.meta->name});
  OwnerPolicies owners = of_owners(view, owners_of, group);
  if (!owners.policies.empty() && !group.parent.empty()) {
    const Policies above = of_parents(view, owners_of, group);
    std::erase_if(owners.policies, [&](const PlacementPolicy* policy) {
      return std::find(above.begin(), above.end(), policy) != above.end();
    });
  }
  add_policies(owners.policies, policies);
  std::sort(policies.begin(), policies.end(),
            [](const PlacementPolicy* a, const PlacementPolicy* b) { return a->meta.name < b->meta.name; });
  if (policies.size() > 1) {
    WishFault fault{WishFault::Kind::ConflictingPolicies, policies.front()->meta.name};
    for (std::size_t i = 1; i < policies.size(); ++i) fault.others.push_back(policies[i]->meta.name);
    return {nullptr, std::move(fault), std::move(policies)};
  }
  // Another owner may have a policy too, so nothing is decided before all are known.
  if (owners.unknown) return {nullptr, std::move(owners.unknown), std::move(policies)};
  if (policies.empty()) return {};
  WishAnswer answer = wish_of(view, *policies.front());
  answer.policies = std::move(policies);
  return answer;
}

void add_key(const std::string& key, std::vector<std::string>& keys) {
  if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
}

void add_required(std::span<const std::string> own, const GroupWish& wish, std::vector<std::string>& keys) {
  for (std::size_t level = 0; level < required_levels(own, wish); ++level)
    add_key(wish.levels[level].key, keys);
}

// Few policies have it, so it is read from their text.
WhenNoSpare when_no_spare_of(const PlacementPolicy& policy) {
  const Result<Json> document = policy.raw ? api::parse_object(*policy.raw) : Result<Json>(Json());
  const std::string word(document ? document->part("spec").string_at("whenNoSpare") : "");
  if (word == "Widen") return WhenNoSpare::Widen;
  return word == "ReplaceGroup" ? WhenNoSpare::ReplaceGroup : WhenNoSpare::Wait;
}

constexpr std::string_view kWhenNoSpareField = "spec.whenNoSpare";
// Members are replaced group by group, so nobody counts what is about all pods of a tree.
constexpr std::string_view kReplacedInSegments = "spec.replaceFailedNodes together with spec.segments";
constexpr std::string_view kReplacedWithSameDevices =
    "spec.replaceFailedNodes together with spec.sameDevices";

// What only PodGroups can have, and those that the root of a tree can have too.
std::string_view field_for_others(const GroupWish& wish, const api::CompositePodGroup& group) {
  if (wish.when_no_spare != WhenNoSpare::Wait) return kWhenNoSpareField;
  if (wish.replaces_failed_nodes && wish.segments) return kReplacedInSegments;
  if (wish.replaces_failed_nodes && wish.same_devices) return kReplacedWithSameDevices;
  if (group.parent.empty()) return "";
  if (wish.segments) return "spec.segments";
  if (wish.contiguous_ranks) return "spec.ranks";
  if (wish.same_devices) return "spec.sameDevices";
  if (wish.distribution == WishDistribution::Balanced) return "spec.distribution";
  return wish.preferred.empty() ? "" : "spec.preferred";
}

std::string or_root(std::string_view field) {
  const bool of_groups_alone =
      field == kWhenNoSpareField || field == kReplacedInSegments || field == kReplacedWithSameDevices;
  return of_groups_alone ? "" : ", or the root of their tree";
}

// The first group below the composite one that asks for a domain of its own; empty: none does.
std::string group_with_domain(const client::View& view, const OwnersOf& owners, const std::string& ns,
                              const std::string& composite, std::size_t levels) {
  const auto asks = [&](const auto& group) {
    return !group.topology_keys.empty() || !answer_of(view, owners, named(group)).policies.empty();
  };
  for (const api::PodGroup* group : view.groups_under(ns, composite))
    if (asks(*group)) return "PodGroup " + group->meta.name;
  if (levels == 0) return "";
  for (const api::CompositePodGroup* group : view.composites_under(ns, composite)) {
    if (asks(*group)) return "CompositePodGroup " + group->meta.name;
    std::string below = group_with_domain(view, owners, ns, group->meta.name, levels - 1);
    if (!below.empty()) return below;
  }
  return "";
}

std::optional<WishFault> composite_fault(const client::View& view, const OwnersOf& owners,
                                         const GroupWish& wish, const api::CompositePodGroup& group) {
  WishFault fault{WishFault::Kind::NotForComposites, wish.policy, group.meta.name};
  fault.field = field_for_others(wish, group);
  if (!fault.field.empty()) return fault;
  if (!wish.segments) return std::nullopt;
  fault.field = "spec.segments";
  std::string below = group_with_domain(view, owners, group.meta.ns, group.meta.name, client::kTreeLevelsMax);
  if (below.empty()) return std::nullopt;
  fault.others.push_back(std::move(below));
  return fault;
}

}  // namespace

std::string_view name_of(WishFault::Kind kind) {
  return kFaultNames[static_cast<std::size_t>(kind)];
}

std::string words_of(const WishFault& fault) {
  const std::string policy = "PlacementPolicy " + fault.policy;
  switch (fault.kind) {
    case WishFault::Kind::ConflictingPolicies:
      return policy + " and " + joined_names(fault.others) + " name the same group: delete all but one";
    case WishFault::Kind::TopologyNotFound:
      return policy + " names Topology " + fault.subject +
             ", which does not exist: create it, or let `berth topology --write` create it";
    case WishFault::Kind::UnknownLevel:
      return policy + " names level " + fault.subject + " in " + fault.field + ", and Topology " +
             fault.others.front() + " has " +
             (fault.others.size() == 1 ? "no level"
                                       : joined_names({fault.others.begin() + 1, fault.others.end()}));
    case WishFault::Kind::NotForComposites:
      return policy + " sets " + fault.field + " for CompositePodGroup " + fault.subject +
             (fault.others.empty()
                  ? ", which only PodGroups can have" + or_root(fault.field) +
                        ": write policies for its PodGroups"
                  : ", and " + fault.others.front() +
                        " below it asks for a domain or has a policy: remove one of the two");
    case WishFault::Kind::OwnersUnread:
      return policy + " may name it: its owner " + fault.subject + " is being read";
  }
  return policy;
}

WishAnswer wish_of(const client::View& view, const PlacementPolicy& policy) {
  const std::string name(policy.topology_name());
  const api::Topology* topology = view.topologies.find("", name);
  if (!topology && (!policy.topology.empty() || !names_labels_alone(policy)))
    return {nullptr, WishFault{WishFault::Kind::TopologyNotFound, policy.meta.name, name}};
  auto wish = std::make_shared<GroupWish>();
  wish->policy = policy.meta.name;
  wish->levels = levels_of(topology, policy);
  const auto unknown = [&](std::string field, const std::string& level) {
    return WishAnswer{nullptr, unknown_level(policy, std::move(field), level, wish->levels)};
  };
  if (!policy.required.empty()) {
    wish->required = index_of(wish->levels, policy.required);
    if (!wish->required) return unknown("spec.required", policy.required);
  }
  for (std::size_t i = 0; i < policy.preferred.size(); ++i) {
    const std::optional<std::size_t> level = index_of(wish->levels, policy.preferred[i]);
    if (!level) return unknown("spec.preferred[" + std::to_string(i) + "]", policy.preferred[i]);
    wish->preferred.push_back(*level);
  }
  if (policy.segments) {
    const std::optional<std::size_t> level = index_of(wish->levels, policy.segments->level);
    if (!level) return unknown("spec.segments.level", policy.segments->level);
    WishSegments& segments = wish->segments.emplace(WishSegments{*level});
    segments.min = policy.segments->min.value_or(segments.min);
    segments.max = policy.segments->max.value_or(segments.max);
  }
  if (policy.balanced) wish->distribution = WishDistribution::Balanced;
  wish->contiguous_ranks = policy.contiguous_ranks;
  wish->replaces_failed_nodes = policy.replaces_failed_nodes;
  if (policy.replaces_failed_nodes) wish->when_no_spare = when_no_spare_of(policy);
  if (policy.same_devices)
    wish->same_devices = WishSameDevices{policy.same_devices->claim, policy.same_devices->attribute};
  return {std::move(wish)};
}

WishAnswer wish_of(const client::View& view, const OwnersOf& owners, const api::PodGroup& group) {
  return answer_of(view, owners, named(group));
}

WishAnswer wish_of(const client::View& view, const OwnersOf& owners, const api::CompositePodGroup& group) {
  WishAnswer answer = answer_of(view, owners, named(group));
  if (!answer.wish) return answer;
  answer.fault = composite_fault(view, owners, *answer.wish, group);
  if (answer.fault) answer.wish = nullptr;
  return answer;
}

void set_wish(GroupInput& input, GroupWishPtr wish) {
  input.wish = std::move(wish);
  if (input.wish) add_required(input.group->topology_keys, *input.wish, input.levels);
}

bool add_wishes(const client::View& view, const OwnersOf& owners, TreeInput& tree) {
  bool faulty = false;
  std::vector<std::vector<std::string>> above(tree.nodes.size());  // keys that are required, of each node
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    TreeNode& node = tree.nodes[i];
    WishAnswer answer =
        node.composite ? wish_of(view, owners, *node.composite) : wish_of(view, owners, *node.group.group);
    faulty |= answer.fault.has_value();
    if (node.parent) above[i] = above[*node.parent];
    if (node.composite) {
      node.wish = std::move(answer.wish);
      if (node.wish) add_required(node.topology_keys(), *node.wish, above[i]);
    } else {
      for (const std::string& key : above[i]) add_key(key, node.group.levels);
      set_wish(node.group, std::move(answer.wish));
    }
  }
  return !faulty;
}

GroupGate gate_of(const WishFault& fault) {
  GroupGate gate{GroupGate::Kind::PolicyFault, fault.policy};
  gate.why = words_of(fault);
  return gate;
}

std::optional<WishFault> fault_of(const client::View& view, const OwnersOf& owners, const TreeMembers& tree) {
  for (const TreeMember& node : tree.nodes) {
    WishAnswer answer;
    if (node.group) answer = wish_of(view, owners, *node.group);
    if (node.composite) answer = wish_of(view, owners, *node.composite);
    if (answer.fault) return std::move(answer.fault);
  }
  return std::nullopt;
}

}  // namespace berth::placement
