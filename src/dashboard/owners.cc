#include "dashboard/owners.h"

#include <algorithm>
#include <array>
#include <utility>

namespace berth::dashboard {
namespace {

constexpr std::array<std::string_view, 4> kOwnerKinds = {"Pod", "PodGroup", "CompositePodGroup",
                                                         "ResourceClaim"};

}  // namespace

std::string_view name_of(OwnerKind kind) {
  return kOwnerKinds[static_cast<std::size_t>(kind)];
}

OwnerKind kind_named(std::string_view name) {
  const auto found = std::find(kOwnerKinds.begin(), kOwnerKinds.end(), name);
  return found == kOwnerKinds.end() ? OwnerKind::Pod : static_cast<OwnerKind>(found - kOwnerKinds.begin());
}

OwnerKind kind_of(placement::EntityKind entry) {
  constexpr std::array kKinds = {OwnerKind::Pod, OwnerKind::PodGroup, OwnerKind::CompositePodGroup};
  return kKinds[static_cast<std::size_t>(entry)];
}

Json to_json(const Owner& owner) {
  return Json::object({{"kind", name_of(owner.kind)}, {"namespace", owner.ns}, {"name", owner.name}});
}

Owner owner_named(const Json& row) {
  return {kind_named(row.string_at("kind")), std::string(row.string_at("namespace")),
          std::string(row.string_at("name"))};
}

Owner owner_of(const client::View& view, const api::Pod& pod) {
  const std::string& ns = pod.meta.ns;
  return pod.group.empty() ? Owner{OwnerKind::Pod, ns, pod.meta.name}
                           : root_of(view, {OwnerKind::PodGroup, ns, pod.group});
}

Owner root_of(const client::View& view, const Owner& part) {
  if (part.kind == OwnerKind::Pod) {
    const api::Pod* pod = view.pods.find(part.ns, part.name);
    return pod ? owner_of(view, *pod) : part;
  }
  Owner root = part;
  if (part.kind == OwnerKind::PodGroup) {
    const api::PodGroup* group = view.pod_groups.find(part.ns, part.name);
    if (!group || group->parent.empty()) return part;
    root = {OwnerKind::CompositePodGroup, part.ns, group->parent};
  }
  for (std::size_t above = 0; above < kParentsMax; ++above) {
    const api::CompositePodGroup* composite = view.composite_groups.find(root.ns, root.name);
    if (!composite || composite->parent.empty()) break;
    root.name = composite->parent;
  }
  return root;
}

Owners::Owners() : rows_(1) {}

OwnerId Owners::acquire(const Owner& owner) {
  if (const auto known = ids_.find(owner); known != ids_.end()) {
    ++rows_[known->second].holds;
    return known->second;
  }
  OwnerId id = static_cast<OwnerId>(rows_.size());
  if (free_.empty()) {
    rows_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  rows_[id] = {owner, 1};
  ids_[owner] = id;
  new_.push_back(id);
  return id;
}

void Owners::release(OwnerId id) {
  if (id == kNobody || --rows_[id].holds > 0) return;
  ids_.erase(rows_[id].owner);
  free_.push_back(id);
}

std::vector<OwnerId> Owners::all() const {
  std::vector<OwnerId> ids;
  ids.reserve(ids_.size());
  for (const auto& [owner, id] : ids_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::vector<OwnerId> Owners::take_new() {
  std::vector<OwnerId> ids = std::exchange(new_, {});
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::erase_if(ids, [&](OwnerId id) { return rows_[id].holds == 0; });
  return ids;
}

}  // namespace berth::dashboard
