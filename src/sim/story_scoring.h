// The scoringStrategy of a story: how NodeResourcesFit scores in its world.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "placement/plugin_arguments.h"

namespace berth::sim {

// {type: MostAllocated, resources: [{name: cpu, weight: 3}], requestedToCapacityRatio: {shape: [{utilization:
// 0, score: 0}]}}, as in NodeResourcesFitArgs. Refuses (Invalid) an unknown type.
Result<placement::ResourcesFitArguments> story_strategy(const Json& words);

}  // namespace berth::sim
