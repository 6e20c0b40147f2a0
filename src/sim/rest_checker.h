// What must be true once all faults have ended and time has passed, from the stored JSON alone.
//
// I10: every pod that fits when all nodes are tried in order, one pod after the other, is bound; bound pods
// run. I4: a gang is bound with its minimum or not at all. I6: no object without an owner is left. I17:
// conditions are true. I19: members leave failed nodes where there is room. "Fits" is judged by the simplest
// placement: it may miss a placement but never invents one.
#pragma once

#include <string>
#include <vector>

#include "sim/safety_checker.h"

namespace berth::sim {

// Whether room may be idle for a while because it is reserved for a waiting entry of higher or equal
// priority.
enum class KeptRoom : std::uint8_t { None, Possible };

// Sentences, sorted; empty without a violation. With KeptRoom::Possible unplaced pods are not reported while
// another entry of their priority or a higher one waits.
std::vector<std::string> broken_at_rest(const SafetyChecker& checker, KeptRoom kept = KeptRoom::None);

// Whether these pods fit one after the other, each on the first node that accepts it, in one domain of the
// topology key (empty: anywhere).
bool would_fit(const StoredState& state, const std::vector<const StoredPod*>& pods, const std::string& key);

}  // namespace berth::sim
