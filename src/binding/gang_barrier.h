// The gang barrier: decides once for each gang's decision whether its members are bound or none of them is.
//
// Reconciler; keys are PodGroups, and the roots of trees of groups. It commits when every remaining member of
// the decision is prepared and these reach the minima together with members that are bound already
// (gang_minima.h). It aborts when the minima cannot be reached any more. The outcome is written into the
// PodGroup, or into the CompositePodGroup at the root, on its version (api/types/gang_decision.h), so two
// binders cannot decide differently. A member that fails before the commit aborts the others only if a group
// that some of them are in loses its minimum. The barrier waits for a member without a BindRequest while its
// pod lives, at most gang_timeout after the latest request appeared to this process. Cost of a run:
// O(members), and a check of claims up to the first member that is not prepared.
#pragma once

#include <map>

#include "binding/binder.h"

namespace berth::binding {

inline constexpr std::string_view kGangBarrierName = "gang-barrier";

// The binder runs on the same engine and outlives it: its plugins know which members are prepared, its
// records which members fail.
std::unique_ptr<client::Reconciler> make_gang_barrier(const BinderOptions& options, Binder& binder);

}  // namespace berth::binding
