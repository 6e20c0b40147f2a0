// The outcome of a gang's decision, for all its members at once.
//
// It is an annotation of the PodGroup, written on its resourceVersion: one durable register that the binder
// writes and that binder and scheduler read. It outlives every member, every BindRequest and every process.
// Committed before the first binding of the decision; from then on members are bound, and never released
// because of each other. Aborted: no member is bound by this decision. A group has one undecided decision at
// a time.
#pragma once

#include <string>
#include <string_view>

#include "api/types/cluster.h"

namespace berth::api {

inline constexpr std::string_view kGangDecisionAnnotation = "scheduling.berth.dev/decision";

enum class GangOutcome { Undecided, Committed, Aborted };

// The group's outcome for this decision.
GangOutcome gang_outcome(const PodGroup& group, std::string_view decision_id);
// The decision of the group's latest outcome; empty without one.
std::string_view decided_gang(const PodGroup& group);
// The annotation's value. `outcome` is decided.
std::string gang_decision_text(std::string_view decision_id, GangOutcome outcome);

}  // namespace berth::api
