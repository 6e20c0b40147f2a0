#include "scheduling/keepers/successor_rooms.h"

#include <algorithm>

namespace berth::scheduling {

PodMaker maker_of(const api::Pod& pod) {
  const api::OwnerReference* controller = pod.group.empty() ? pod.meta.controller() : nullptr;
  return {pod.meta.ns, pod.group, controller ? controller->uid : ""};
}

void SuccessorRooms::keep(const api::Pod& leaving, model::NodeId node, model::ScopedHold hold, Time until) {
  const PodMaker maker = maker_of(leaving);
  maker_of_[leaving.meta.uid] = maker;
  ends_.emplace(until, leaving.meta.uid);
  rooms_[maker].push_back({leaving.meta.name, leaving.meta.uid, node, std::move(hold), until});
}

SuccessorRooms::Passed SuccessorRooms::passed_by(std::span<const api::Pod* const> waiting) const {
  Passed passed;
  if (rooms_.empty()) return passed;
  std::map<PodMaker, Rooms::const_iterator> next;
  for (const api::Pod* pod : waiting) {
    const auto found = rooms_.find(maker_of(*pod));
    if (found == rooms_.end()) continue;
    const auto [room, is_new] = next.emplace(found->first, found->second.begin());
    if (is_new)
      for (const Room& one : found->second) passed.holds.push_back(one.hold.id());
    if (room->second == found->second.end()) continue;
    passed.first_nodes[pod->meta.uid] = room->second->node;
    ++room->second;
  }
  return passed;
}

placement::SchedulingContext SuccessorRooms::Passed::shown_in(placement::SchedulingContext context) const {
  if (!first_nodes.empty()) context.first_nodes = &first_nodes;
  return context;
}

void SuccessorRooms::end(const PodMaker& maker, Rooms::iterator room) {
  const auto rooms = rooms_.find(maker);
  ends_.erase({room->until, room->leaving_uid});
  maker_of_.erase(room->leaving_uid);
  rooms->second.erase(room);
  if (rooms->second.empty()) rooms_.erase(rooms);
}

bool SuccessorRooms::placed(const api::Pod& pod, model::NodeId node) {
  if (rooms_.empty()) return false;
  const auto found = rooms_.find(maker_of(pod));
  if (found == rooms_.end()) return false;
  Rooms& rooms = found->second;
  const auto there = std::ranges::find(rooms, node, &Room::node);
  end(PodMaker(found->first), there == rooms.end() ? rooms.begin() : there);
  return true;
}

bool SuccessorRooms::give_up(const std::string& leaving_uid) {
  const auto found = maker_of_.find(leaving_uid);
  if (found == maker_of_.end()) return false;
  const PodMaker maker = found->second;
  end(maker, std::ranges::find(rooms_.at(maker), leaving_uid, &Room::leaving_uid));
  return true;
}

bool SuccessorRooms::expire(Time now) {
  bool expired = false;
  while (!ends_.empty() && ends_.begin()->first <= now)
    expired |= give_up(std::string(ends_.begin()->second));
  return expired;
}

std::optional<Time> SuccessorRooms::next_time() const {
  return ends_.empty() ? std::nullopt : std::optional(ends_.begin()->first);
}

}  // namespace berth::scheduling
