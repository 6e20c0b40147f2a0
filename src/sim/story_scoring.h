// How the scheduler of a story scores, and whether it moves pods.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "placement/plugin_arguments.h"
#include "scheduling/keepers/relocations.h"

namespace berth::sim {

// {type: MostAllocated, resources: [{name: cpu, weight: 3}], requestedToCapacityRatio: {shape: [{utilization:
// 0, score: 0}]}}, as in NodeResourcesFitArgs. Refuses (Invalid) an unknown type.
Result<placement::ResourcesFitArguments> story_strategy(const Json& words);
// {mode: Evict, level: rack, interval: 30s, movesAtOnce: 8, movesPerHour: 60, ratio: 2}, as in a
// BerthConfiguration. Refuses (Invalid) an unknown mode and a wrong interval.
Result<scheduling::DefragmentationSettings> story_defragmentation(const Json& words);

}  // namespace berth::sim
