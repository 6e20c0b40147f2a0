// The claim for a pod's extended resources in the binding process. Its name is derived from the pod, so a
// repeated create finds the first one's claim. The pod's status names it before the binding. It is deleted if
// the placement fails. Source: KEP-5004.
#pragma once

#include "binding/plugin.h"

namespace berth::binding {

// The claim in the view if the pod owns it; otherwise null.
const api::ResourceClaim* find_extended_claim(const BindContext& context, const api::ClaimAllocation& wanted);

// Whether a claim with this name has another owner.
bool extended_name_is_taken(const BindContext& context, const api::ClaimAllocation& wanted);

client::Chain create_extended_claim(const BindContext& context, const api::ClaimAllocation& wanted);

// Writes the claim and its mappings to pod.status.extendedResourceClaimStatus; none if they are there.
std::optional<client::Chain> tell_pod(const BindContext& context, const api::ClaimAllocation& wanted);

}  // namespace berth::binding
