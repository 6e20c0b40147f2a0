// The gang barrier: decides once for each gang's decision whether its members are bound or none of them is.
//
// Reconciler; keys are PodGroups. Commits when every member of the decision that is left is prepared and,
// with members that are bound already, there are at least minCount. Aborts when there cannot be as many any
// more. The outcome is written into the PodGroup on its version (api/types/gang_decision.h), so two binders
// cannot decide differently. A member that fails before the commit takes the others with it only when fewer
// than minCount are left. A member that was decided but has no BindRequest is waited for while its pod lives,
// for gang_timeout after the last one appeared; time counts from when this process saw it. Cost of a run:
// O(members), and one look at claims up to the first member that is not prepared.
#pragma once

#include <map>

#include "binding/binder.h"

namespace berth::binding {

inline constexpr std::string_view kGangBarrierName = "gang-barrier";

// The binder runs on the same engine and outlives it: its plugins say which members are prepared, its records
// which members give up.
std::unique_ptr<client::Reconciler> make_gang_barrier(const BinderOptions& options, Binder& binder);

}  // namespace berth::binding
