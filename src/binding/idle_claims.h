// Gives up allocations that nobody uses while a pod that wants the claim is told that it fits nowhere: the
// allocation may be what pins it to the wrong nodes.
//
// Reconciler; keys are ResourceClaims. A claim that others have reserved is never touched, nor one that a
// bind request still carries. Memory: since when a claim is seen idle; a crash starts that time again.
// Source: kube-scheduler's DynamicResources, PostFilter.
#pragma once

#include <map>
#include <memory>

#include "client/decider.h"

namespace berth::binding {

// Enough for the scheduler to have looked at the allocation; it is woken when one appears.
inline constexpr Duration kIdleAllocationGrace = Duration::seconds(30);

std::unique_ptr<client::Reconciler> make_idle_claims();

}  // namespace berth::binding
