#include "scheduling/victim_rooms.h"

#include <utility>
#include <vector>

#include "placement/preemption/victims.h"

namespace berth::scheduling {
namespace {

bool comes_back(const LoopState& loop, const client::View& view, const api::Pod& pod) {
  return loop.ours(pod) && pod.bound() && pod.group.empty() && pod.meta.controller() &&
         !loop.rooms.has_room(pod.meta.uid) && !placement::is_tied_to_node(view, pod);
}

}  // namespace

void keep_rooms_of_victims(LoopState& loop, DecisionCore& core, const SchedulingContext& context,
                           const placement::VictimPlan& found, Time until) {
  std::vector<SuccessorPlace> places;
  {
    model::Ledger::Transaction transaction(loop.cluster.ledger());
    for (const placement::PreemptionVictim& victim : found.victims)
      placement::remove_victim(loop.cluster, victim.pod, model::GroupClaims::Kept, transaction);
    std::size_t tried = 0;
    for (const placement::PreemptionVictim& victim : found.victims) {
      const api::Pod& pod = *loop.cluster.pod(victim.pod).live;
      if (!comes_back(loop, context.view, pod)) continue;
      if (++tried > kVictimsPlacedMax || !loop.rooms.has_space_for(places.size() + 1)) break;
      const auto before = transaction.savepoint();
      const std::optional<model::Place> place = core.place_pod(context, pod, {}, transaction);
      model::Plan room = transaction.take_since(before);
      if (!place) continue;
      loop.cluster.redo(room, transaction);
      places.push_back({victim.pod, place->node, std::move(room)});
    }
  }
  for (const SuccessorPlace& place : places) loop.keep_successor_room(context.view, place, until);
}

}  // namespace berth::scheduling
