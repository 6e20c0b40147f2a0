#include "simulate/stored_objects.h"

#include <algorithm>
#include <iterator>

namespace berth::simulate {

using placement::EntityKey;
using placement::EntityKind;
using planning::OfflineCluster;

std::vector<StoredObject> stored_of(OfflineCluster& offline, const api::ObjectKey& key) {
  std::vector<StoredObject> found;
  const auto object = offline.view().find(key);
  if (!object) return found;
  found.push_back({key, *object});
  if (key.kind == api::Kind::Pod) {
    const api::Pod& pod = *std::get<std::shared_ptr<const api::Pod>>(*object);
    for (const api::ResourceClaim* claim : offline.view().claims_owned_by(pod.meta.uid)) {
      const api::ObjectKey owned{api::Kind::ResourceClaim, claim->meta.ns, claim->meta.name, {}};
      found.push_back({owned, *offline.view().find(owned)});
    }
  }
  return found;
}

std::vector<StoredObject> take_stored(OfflineCluster& offline, const api::ObjectKey& key) {
  std::vector<StoredObject> taken = stored_of(offline, key);
  for (const StoredObject& stored : taken) offline.erase(stored.key.kind, stored.key.ns, stored.key.name);
  return taken;
}

void put_stored(OfflineCluster& offline, const StoredObject& stored, Time created) {
  std::visit(
      [&](const auto& shared) {
        auto object = *shared;
        object.meta.created = created;
        offline.replace(stored.key.kind, std::move(object));
      },
      stored.object);
}

api::ObjectKey key_of_document(const planning::Document& document) {
  const Json& metadata = document.object.part("metadata");
  const std::string_view ns = metadata.string_at("namespace");
  const bool namespaced = document.kind != api::Kind::Other && api::info_of(document.kind).namespaced;
  return {document.kind,
          namespaced ? std::string(ns.empty() ? "default" : ns) : std::string(),
          std::string(metadata.string_at("name")),
          {}};
}

namespace {

bool waits(OfflineCluster& offline, const EntityKey& key) {
  const client::View& view = offline.view();
  const auto wants = [&](const api::Pod* pod) {
    return pod && placement::wants_place(view, offline.cluster(), *pod);
  };
  switch (key.kind) {
    case EntityKind::Pod:
      return wants(view.pods.find(key.ns, key.name));
    case EntityKind::Group:
      return std::ranges::any_of(view.pods_of_group(key.ns, key.name), wants);
    case EntityKind::CompositeGroup:
      return std::ranges::any_of(
          planning::tree_of(view, offline.cluster(), key).nodes,
          [](const placement::TreeMember& node) { return !node.members.waiting.empty(); });
  }
  return false;
}

}  // namespace

planning::Plan decide_entities(OfflineCluster& offline, planning::Planner& planner,
                               const std::vector<EntityKey>& keys) {
  std::vector<std::pair<placement::QueuedEntity, EntityKey>> queue;
  for (const EntityKey& key : keys)
    if (waits(offline, key))
      queue.emplace_back(planning::turn_of(offline.view(), offline.cluster(), key).entry, key);
  std::ranges::sort(
      queue, [](const auto& a, const auto& b) { return placement::queue_sort_less(a.first, b.first); });
  planning::Plan all;
  for (const auto& [entry, key] : queue) {
    planning::Plan one = planner.decide(planning::turn_of(
        offline.view(), offline.cluster(), key));  // an earlier one may have replaced its objects
    std::ranges::move(one.decisions, std::back_inserter(all.decisions));
  }
  return all;
}

}  // namespace berth::simulate
