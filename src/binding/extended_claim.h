// The claim that stands for a pod's extended resources, as far as the binder's binding process goes: created
// with a name that follows from the pod, so that a repeated create finds what the lost one made; told in the
// pod's status before the binding; deleted when the placement fails. Source: KEP-5004.
#pragma once

#include "binding/plugin.h"

namespace berth::binding {

// The claim as seen, when it is this pod's. Null when it is not there, or is somebody else's.
const api::ResourceClaim* find_extended_claim(const BindContext& context, const api::ClaimAllocation& wanted);

// Whether another owner has the name.
bool extended_name_is_taken(const BindContext& context, const api::ClaimAllocation& wanted);

client::Chain create_extended_claim(const BindContext& context, const api::ClaimAllocation& wanted);

// Puts the claim and its mappings into pod.status.extendedResourceClaimStatus; nothing when it stands there.
std::optional<client::Chain> tell_pod(const BindContext& context, const api::ClaimAllocation& wanted);

}  // namespace berth::binding
