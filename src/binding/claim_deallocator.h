// Deallocates claims that no pod uses while a pod that names the claim is unschedulable: the allocation may
// pin the pod to the wrong nodes.
//
// The backstop of the scheduler, which gives up at once what one refused pod alone holds. Only this sees what
// no single pod holds: a claim whose consumers are several pods that all wait, or a pod that waits with
// nothing under way (a reservation that outlived its try), an idle one that keeps a pod away beside other
// reasons, and the claim for extended resources that a try left behind. Those never free themselves.
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
// Claims whose idleness is timed at once; another is looked at again after the grace, when there may be room.
inline constexpr std::size_t kIdleClaimsMax = 65536;

std::unique_ptr<client::Reconciler> make_claim_deallocator();

}  // namespace berth::binding
