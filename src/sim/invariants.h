// Invariants of a world at every moment that a person could look: checked from the API's objects alone.
#pragma once

#include <string>
#include <vector>

#include "sim/world.h"

namespace berth::sim {

// Sentences about violations, sorted; empty without one.
//  * a device is allocated by at most one claim (no shares in these worlds);
//  * counters of a set are not overdrawn, and its allocated devices have a group in common or none has one;
//  * a bound pod's claims are allocated, reserved for it, and usable on its node;
//  * pods of one group with a topology key are bound in one domain;
//  * requests on a node stay within what it offers.
std::vector<std::string> broken_invariants(World& world);

}  // namespace berth::sim
