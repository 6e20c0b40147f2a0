// I16: what schedulers believe at rest is what is stored.
//
// Their views have every object in its newest version, and their models the same pods on the same nodes and
// the same devices in use as the stored JSON says. What audits repaired before is told at once, by the storm.
#pragma once

#include <string>
#include <vector>

#include "sim/hostile_world.h"
#include "sim/safety_checker.h"

namespace berth::sim {

// Sentences; of processes that run. Cost: reads every object.
std::vector<std::string> broken_memories(HostileWorld& world, const SafetyChecker& checker);

}  // namespace berth::sim
