// Deallocates claims that no pod uses while a pod that names the claim is unschedulable: the allocation may
// restrict the pod to the wrong nodes.
//
// The scheduler deallocates at once what only one refused pod holds. This reconciler handles the rest: claims
// that several waiting pods have reserved, and reservations that outlived their attempt. It also handles idle
// claims that are one of several reasons against a pod, and an attempt's leftover claim for extended
// resources.
//
// Reconciler; keys are ResourceClaims. It never touches a claim that another consumer has reserved or that an
// unfinished BindRequest carries. Memory: the time since when each claim is seen idle; a crash restarts it.
// Source: kube-scheduler's DynamicResources, PostFilter.
#pragma once

#include <map>
#include <memory>

#include "client/decider.h"

namespace berth::binding {

// Long enough for the scheduler to try the waiting pods with the allocation first.
inline constexpr Duration kIdleAllocationGrace = Duration::seconds(30);
// Claims timed at once; another claim is evaluated again after the grace.
inline constexpr std::size_t kIdleClaimsMax = 65536;

std::unique_ptr<client::Reconciler> make_claim_deallocator();

}  // namespace berth::binding
