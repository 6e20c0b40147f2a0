// I16: the state in schedulers' memory equals the stored state at rest.
//
// Their views have every object in its newest version, and their models the same pods on the same nodes and
// the same devices in use as the stored JSON. The storm reports repairs of audits at once.
#pragma once

#include <string>
#include <vector>

#include "sim/hostile_world.h"
#include "sim/safety_checker.h"

namespace berth::sim {

// Sentences about running processes. Cost: reads every object.
std::vector<std::string> broken_memories(HostileWorld& world, const SafetyChecker& checker);

}  // namespace berth::sim
