// The step `health` of a story: a driver's report about its devices.
#pragma once

#include "base/json.h"
#include "sim/world.h"

namespace berth::sim {

// {node, driver, pool, devices: {NAME: Healthy|Unhealthy|Unknown}, message, timeout} or {node, driver,
// stream: up|down|gone|unsupported}. Refuses other words and values, by name.
Status report_health(World& world, const Json& words);

}  // namespace berth::sim
