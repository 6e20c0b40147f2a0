// PodGroups of KAI Scheduler (scheduling.run.ai/v2alpha2): a tree of subgroups, each with a minimum and a
// topology constraint.
//
// The levels of a constraint are node labels. Not followed: queue, preemptibility, schedulingBackoff.
#include <algorithm>

#include "client/group_tree.h"
#include "groups/source.h"

namespace berth::groups {
namespace {

void constrain_by_levels(WantedGroup& group, const Json& constraint) {
  constrain(group, constraint.string_at("requiredTopologyLevel"),
            constraint.string_at("preferredTopologyLevel"));
}

bool has_children(const JsonArray& parts, std::string_view name) {
  return std::ranges::any_of(parts, [&](const Json& part) { return part.string_at("parent") == name; });
}

// The subgroups below `parent`, depth first; `above` is the group that stands for it.
Status add_below(const JsonArray& parts, std::string_view parent, const std::string& above, std::size_t level,
                 const Asked& asked, WantedTree& tree) {
  if (level == client::kTreeLevelsMax)
    return Error(ErrorCode::Invalid, "spec.subGroups",
                 "must form a tree of at most " + std::to_string(client::kTreeLevelsMax) + " levels");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].string_at("parent") != parent) continue;
    const std::string path = "spec.subGroups[" + std::to_string(i) + "]";
    const std::string name(parts[i].string_at("name"));
    if (name.empty()) return Error(ErrorCode::Invalid, path + ".name", "must name the subgroup");
    WantedGroup group{.name = api::kai_subgroup_name(asked.name, name), .parent = above};
    group.composite = has_children(parts, name);
    constrain_by_levels(group, parts[i].part("topologyConstraint"));
    group.minimum = TRY(minimum_at(parts[i], path, group.composite ? "minSubGroup" : "minMember", -1));
    tree.groups.push_back(group);
    if (group.composite) TRY(add_below(parts, name, group.name, level + 1, asked, tree));
  }
  return {};
}

}  // namespace

Result<WantedTree> kai_tree(const Asked& asked) {
  const Json& spec = asked.object->spec();
  const JsonArray& parts = spec.items_at("subGroups");
  if (parts.size() > kWantedGroupsMax)
    return Error(ErrorCode::Invalid, "spec.subGroups",
                 "must have at most " + std::to_string(kWantedGroupsMax) + " items");
  WantedGroup root{.name = asked.name, .composite = !parts.empty()};
  constrain_by_levels(root, spec.part("topologyConstraint"));
  root.minimum = TRY(minimum_at(spec, "spec", root.composite ? "minSubGroup" : "minMember", -1));
  WantedTree tree{{std::move(root)}};
  TRY(add_below(parts, "", asked.name, 1, asked, tree));
  if (tree.groups.size() != parts.size() + 1)
    return Error(ErrorCode::Invalid, "spec.subGroups",
                 "each parent must be a subgroup that leads to the root");
  // Of a group of groups without a number of its own: all of them.
  for (WantedGroup& group : tree.groups)
    if (group.minimum < 0) group.minimum = group.composite ? tree.children_of(group.name) : 1;
  return tree;
}

JsonObject kai_status(const Parsed&, const WantedTree& tree, const Progress& progress) {
  const PodCounts& counts = progress.counts;
  JsonObject status;
  status.append("phase", progress.placed && counts.running >= tree.root().minimum ? "Running" : "Pending");
  append_counts(status, counts);
  status.append("pending",
                workloads::unless_zero(counts.pods - counts.running - counts.succeeded - counts.failed));
  return status;
}

}  // namespace berth::groups
