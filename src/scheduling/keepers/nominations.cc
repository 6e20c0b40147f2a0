#include "scheduling/keepers/nominations.h"

namespace berth::scheduling {

bool Nominations::follow(model::Cluster& cluster, const EntityKey& key, const api::Pod& pod) {
  const model::NodeId node =
      pod.nominated_node.empty() ? model::NodeId::none() : cluster.find_node(pod.nominated_node);
  const bool live = node.valid() && cluster.live_nodes().contains(pod.nominated_node);
  const model::PodId id = cluster.find_pod(pod.meta.ns, pod.meta.name);
  if (!live || !id.valid()) return forget(key);
  // Equal priorities respect the room, too.
  const std::int32_t bound = pod.priority == INT32_MAX ? pod.priority : pod.priority + 1;
  const model::ResourceAmounts& requests = cluster.pod(id).requests;
  if (const auto found = held_.find(key); found != held_.end()) {
    const Held& held = found->second;
    const model::Hold& hold = held.hold.hold();
    if (held.uid == pod.meta.uid && held.node == node && hold.priority == bound &&
        hold.places.front().requests == requests)
      return false;
  }
  const bool made_room = forget(key);
  if (held_.size() >= kNominationsMax) return made_room;
  model::HeldPlace place;
  place.node = node;
  place.requests = requests;
  place.pod = id;
  held_.emplace(key,
                Held{pod.meta.uid, node,
                     model::ScopedHold(cluster.ledger(), model::Hold{bound, {std::move(place)}, {}, {}})});
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
