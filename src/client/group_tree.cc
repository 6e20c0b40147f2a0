#include "client/group_tree.h"

#include <set>

namespace berth::client {
namespace {

template <class Group>
std::optional<api::GangRegister> register_in(const Group* group, const std::string& uid) {
  if (!group || (!uid.empty() && group->meta.uid != uid)) return std::nullopt;
  return api::GangRegister(*group);
}

bool shows_commit(const View& view, const api::BindRequest& member) {
  if (member.committed || member.phase == api::BindPhase::Succeeded) return true;
  const api::Pod* pod = view.pods.find(member.meta.ns, member.pod_name);
  return pod && api::is_bound_by(*pod, member);
}

struct WalkDown {
  const View& view;
  std::string_view ns;
  std::vector<const api::PodGroup*> groups = {};
  std::set<std::string_view> seen = {};  // names of composites

  void visit(std::string_view composite, std::size_t level) {
    if (level == kTreeLevelsMax || !seen.insert(composite).second) return;
    const std::vector<const api::PodGroup*> own = view.groups_under(ns, composite);
    groups.insert(groups.end(), own.begin(), own.end());
    for (const api::CompositePodGroup* child : view.composites_under(ns, composite))
      visit(child->meta.name, level + 1);
  }
};

}  // namespace

TreeTop tree_top(const View& view, std::string_view ns, std::string_view composite) {
  TreeTop top{std::string(composite), TreeTop::End::Root};
  for (std::size_t level = kTreeLevelsMax - 1; level > 0; --level) {
    const api::CompositePodGroup* found = view.composite_groups.find(ns, top.name);
    if (!found) return {top.name, TreeTop::End::Missing};
    if (found->parent.empty()) return top;
    if (level > 1) top.name = found->parent;
  }
  return {top.name, TreeTop::End::TooDeep};
}

TreeTop tree_top(const View& view, const api::PodGroup& group) {
  return group.parent.empty() ? TreeTop{} : tree_top(view, group.meta.ns, group.parent);
}

std::vector<const api::CompositePodGroup*> groups_above(const View& view, const api::PodGroup& group) {
  return groups_above(view, group.meta.ns, group.parent);
}

std::vector<const api::CompositePodGroup*> groups_above(const View& view, std::string_view ns,
                                                        std::string_view parent) {
  std::vector<const api::CompositePodGroup*> above;
  while (!parent.empty() && above.size() + 1 < kTreeLevelsMax) {
    const api::CompositePodGroup* found = view.composite_groups.find(ns, parent);
    if (!found) break;
    above.push_back(found);
    parent = found->parent;
  }
  return above;
}

std::vector<const api::PodGroup*> groups_below(const View& view, std::string_view ns,
                                               std::string_view composite) {
  WalkDown walk{view, ns};
  walk.visit(composite, 1);
  return std::move(walk.groups);
}

std::optional<api::GangRegister> register_of(const View& view, const api::BindRequest& request) {
  const api::BindGroup& group = request.group;
  if (group.root.name.empty())
    return register_in(view.pod_groups.find(request.meta.ns, group.name), group.uid);
  return register_in(view.composite_groups.find(request.meta.ns, group.root.name), group.root.uid);
}

api::ObjectKey register_key(const api::BindRequest& request) {
  const api::BindGroup& group = request.group;
  if (group.root.name.empty()) return {api::Kind::PodGroup, request.meta.ns, group.name, {}};
  return {api::Kind::CompositePodGroup, request.meta.ns, group.root.name, {}};
}

api::GangOutcome outcome_of(const View& view, const api::BindRequest& request) {
  const std::optional<api::GangRegister> found = register_of(view, request);
  if (found) return api::gang_outcome(*found, request.decision_id);
  for (const api::BindRequest* member : view.bind_requests_of_decision(request.decision_id))
    if (shows_commit(view, *member)) return api::GangOutcome::Committed;
  return api::GangOutcome::Undecided;
}

}  // namespace berth::client
