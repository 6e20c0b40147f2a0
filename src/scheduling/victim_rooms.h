// Victims that fit elsewhere: their rooms there are kept for the pods that their controllers make again.
//
// The preemptor has its hold already. In a what-if all victims leave, and those with a controller are placed
// again as single pods, the most important first; each that finds a node keeps its room (SuccessorRooms). So
// nobody of equal or lower priority takes it while the victim ends. Members of groups, pods that are tied to
// their nodes and pods of other schedulers keep none. Cost: a decision for each of at most kVictimsPlacedMax.
#pragma once

#include "placement/decision_core.h"
#include "placement/preemption/victim_search.h"
#include "scheduling/loop_state.h"

namespace berth::scheduling {

inline constexpr std::size_t kVictimsPlacedMax = 256;  // of one plan; later ones keep no room

void keep_rooms_of_victims(LoopState& loop, DecisionCore& core, const SchedulingContext& context,
                           const placement::VictimPlan& found, Time until);

}  // namespace berth::scheduling
