#include "scheduling/victim_rooms.h"

#include <utility>
#include <vector>

#include "placement/preemption/victims.h"

namespace berth::scheduling {
namespace {

struct VictimRoom {
  model::PodId pod;
  model::NodeId node;
  model::Plan steps;
};

bool comes_back(const LoopState& loop, const client::View& view, const api::Pod& pod) {
  return loop.ours(pod) && pod.bound() && pod.group.empty() && pod.meta.controller() &&
         !loop.rooms.has_room(pod.meta.uid) && !placement::is_tied_to_node(view, pod);
}

}  // namespace

void keep_rooms_of_victims(LoopState& loop, DecisionCore& core, const SchedulingContext& context,
                           const placement::VictimPlan& found, Time until) {
  std::vector<VictimRoom> rooms;
  {
    model::Ledger::Transaction transaction(loop.cluster.ledger());
    for (const placement::PreemptionVictim& victim : found.victims)
      placement::remove_victim(loop.cluster, victim.pod, transaction);
    std::size_t tried = 0;
    for (const placement::PreemptionVictim& victim : found.victims) {
      const api::Pod& pod = *loop.cluster.pod(victim.pod).live;
      if (!comes_back(loop, context.view, pod)) continue;
      if (++tried > kVictimsPlacedMax || !loop.rooms.has_space_for(rooms.size() + 1)) break;
      const auto before = transaction.savepoint();
      const std::optional<model::Place> place = core.place_pod(context, pod, {}, transaction);
      VictimRoom room{victim.pod, {}, transaction.take_since(before)};
      if (!place) continue;
      room.node = place->node;
      loop.cluster.redo(room.steps, transaction);
      rooms.push_back(std::move(room));
    }
  }
  for (const VictimRoom& room : rooms) {
    const api::Pod& pod = *loop.cluster.pod(room.pod).live;
    model::Hold hold = loop.cluster.hold_for(room.steps, binding_equals(pod.priority));
    loop.rooms.keep(pod, room.node, model::ScopedHold(loop.cluster.ledger(), std::move(hold)), until);
  }
}

}  // namespace berth::scheduling
