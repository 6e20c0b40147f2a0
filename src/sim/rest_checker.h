// What must have come true once all trouble has ended and time has passed, from the stored JSON alone.
//
// I10: who would find room by trying every node in order, one after the other, is bound; bound pods run.
// I4: a gang is bound with its minimum or not at all. I6: nothing is left that nobody owns. I17: conditions
// say what is. "Room" is judged by the simplest placement there is: it may miss room, never invent it.
#pragma once

#include <string>
#include <vector>

#include "sim/safety_checker.h"

namespace berth::sim {

// Whether room may stand idle for a while because it is kept for a higher priority that waits.
enum class KeptRoom : std::uint8_t { None, Possible };

// Sentences, sorted; empty when all is well. With KeptRoom::Possible nothing is said of who would fit while a
// higher priority waits.
std::vector<std::string> broken_at_rest(const SafetyChecker& checker, KeptRoom kept = KeptRoom::None);

// Whether these pods find room one after the other, each on the first node that takes it, in one domain of
// the topology key (empty: anywhere).
bool would_fit(const StoredState& state, const std::vector<const StoredPod*>& pods, const std::string& key);

}  // namespace berth::sim
