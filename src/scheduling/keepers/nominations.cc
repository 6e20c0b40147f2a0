#include "scheduling/keepers/nominations.h"

namespace berth::scheduling {

bool Nominations::follow(model::Cluster& cluster, const EntityKey& key, const api::Pod& pod,
                         const FindRoom& find_room) {
  const model::NodeId node =
      pod.nominated_node.empty() ? model::NodeId::none() : cluster.find_node(pod.nominated_node);
  const bool live = node.valid() && cluster.live_nodes().contains(pod.nominated_node);
  const model::PodId id = cluster.find_pod(pod.meta.ns, pod.meta.name);
  if (!live || !id.valid()) return forget(key);
  const std::int32_t bound = model::binding_equals(pod.priority);
  const model::ResourceAmounts& requests = cluster.pod(id).requests;
  const auto found = held_.find(key);
  const bool same = found != held_.end() && found->second.uid == pod.meta.uid && found->second.node == node &&
                    found->second.hold.hold().priority == bound && found->second.requests == requests;
  if (same && (!find_room || found->second.has_devices)) return false;
  std::optional<model::Hold> room = find_room ? find_room() : std::nullopt;
  if (same && !room) return false;
  const bool made_room = forget(key) && !same;
  if (held_.size() >= kNominationsMax) return made_room;
  const bool has_devices = room.has_value();
  if (!room) {
    room.emplace();
    model::HeldPlace& place = room->places.emplace_back();
    place.node = node;
    place.requests = requests;
    place.pod = id;
  }
  room->priority = bound;
  held_.emplace(key, Held{pod.meta.uid, node, requests, has_devices,
                          model::ScopedHold(cluster.ledger(), *std::move(room))});
  return made_room;
}

std::optional<model::Ledger::HoldId> Nominations::hold_of(const EntityKey& key) const {
  const auto found = held_.find(key);
  return found == held_.end() ? std::nullopt : std::optional(found->second.hold.id());
}

std::vector<EntityKey> Nominations::below(std::int32_t priority, model::NodeId node) const {
  std::vector<EntityKey> lower;
  for (const auto& [key, held] : held_)
    if (held.node == node && held.hold.hold().priority <= priority) lower.push_back(key);
  return lower;
}

}  // namespace berth::scheduling
