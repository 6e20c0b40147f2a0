// PodGangs of Grove (scheduler.grove.io/v1alpha1): each podgroup is a gang, and all of them start together.
//
// reuseReservationRef is a suggestion that is not followed. The score of the status is that of the wishes: 1
// when the pods are where the gang prefers them, or when it prefers nothing.
#include <algorithm>

#include "groups/source.h"

namespace berth::groups {
namespace {

void constrain_by_pack(WantedGroup& group, const Json& owner) {
  const Json& pack = owner.part("topologyConstraint").part("packConstraint");
  constrain(group, pack.string_at("required"), pack.string_at("preferred"));
}

Result<WantedGroup> group_of(const Json& part, const std::string& path) {
  WantedGroup group{.name = std::string(part.string_at("name"))};
  if (group.name.empty()) return Error(ErrorCode::Invalid, path + ".name", "must name the group");
  group.minimum = TRY(minimum_at(part, path, "minReplicas", 1));
  constrain_by_pack(group, part);
  return group;
}

// Puts the named groups below a group of groups of their own: its constraint is about them together.
Status fold(const Json& config, const std::string& path, const std::string& gang, WantedTree& tree) {
  WantedGroup above{.name = gang + "-" + std::string(config.string_at("name")), .parent = gang};
  above.composite = true;
  above.minimum = 0;
  constrain_by_pack(above, config);
  for (const Json& name : config.items_at("podGroupNames")) {
    const auto part = std::ranges::find_if(tree.groups, [&](const WantedGroup& one) {
      return !one.composite && name.is_string() && one.name == name.as_string();
    });
    if (part == tree.groups.end() || part->parent != gang)
      return Error(ErrorCode::Invalid, path + ".podGroupNames",
                   "must name podgroups of the gang, each in one entry at most");
    part->parent = above.name;
    ++above.minimum;
  }
  if (above.minimum > 0) tree.groups.insert(tree.groups.begin() + 1, std::move(above));
  return {};
}

// As it comes back: a whole number has no fraction.
Json score_json(double score) {
  const auto whole = static_cast<std::int64_t>(score);
  return static_cast<double>(whole) == score ? Json(whole) : Json(score);
}

}  // namespace

Result<WantedTree> grove_tree(const Asked& asked) {
  const Json& spec = asked.object->spec();
  const JsonArray& parts = spec.items_at("podgroups");
  if (parts.empty() || parts.size() > kWantedGroupsMax)
    return Error(ErrorCode::Invalid, "spec.podgroups",
                 "must have 1 to " + std::to_string(kWantedGroupsMax) + " items");
  WantedGroup root{.name = asked.name, .composite = true};
  constrain_by_pack(root, spec);
  WantedTree tree{{std::move(root)}};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    tree.groups.push_back(TRY(group_of(parts[i], "spec.podgroups[" + std::to_string(i) + "]")));
    tree.groups.back().parent = asked.name;
  }
  const JsonArray& configs = spec.items_at("topologyConstraintGroupConfigs");
  for (std::size_t i = 0; i < configs.size(); ++i)
    TRY(fold(configs[i], "spec.topologyConstraintGroupConfigs[" + std::to_string(i) + "]", asked.name, tree));
  tree.groups.front().minimum = tree.children_of(asked.name);
  // A gang of one podgroup without constraints of both needs no group of groups.
  if (parts.size() == 1 && tree.groups.size() == 2 && tree.root().required.empty() &&
      tree.root().preferred.empty()) {
    tree.groups.erase(tree.groups.begin());
    tree.groups.front().parent.clear();
  }
  return tree;
}

JsonObject grove_status(const Parsed&, const WantedTree&, const Progress& progress) {
  const PodCounts& counts = progress.counts;
  const bool all_run = counts.pods > 0 && counts.running == counts.pods;
  JsonObject status;
  status.append("phase", !progress.placed ? "Pending" : all_run ? "Running" : "Starting");
  status.append("placementScore", progress.placed ? score_json(progress.score.value_or(1)) : Json());
  return status;
}

}  // namespace berth::groups
