// What a group or a tree that is not tried yet waits for, as far as its objects show it: pods and groups that
// do not exist, and scheduling gates.
//
// Pure. Cost: one pass over the members. The scheduler's own reason is the gate of its record.
#pragma once

#include "explain/explanation.h"

namespace berth::explain {

// Texts of one list; the last one then counts the others.
inline constexpr std::size_t kStartWaitsMax = 16;

// An array of texts: "CompositePodGroup serv, which does not exist (nearest: serve)", "1 more pod: 2 of 3
// exist", "scheduling gate example.com/quota of pod train-1".
Json start_waits(const GroupFacts& facts);
Json start_waits(const TreeFacts& facts);

}  // namespace berth::explain
