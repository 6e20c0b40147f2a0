// Whom a claim is reserved for: a pod, or its PodGroup where the group's spec.resourceClaims has the pod's
// entry.
//
// The field is the capability: an API server without DRAWorkloadResourceClaims drops it, and then a stored
// group has no claims and every pod is the consumer. Source: KEP-5729; resourceclaim.BindTo and
// IsReservedForPod of 1.37.
#pragma once

#include <string_view>

#include "api/types/cluster.h"
#include "api/types/dra.h"
#include "api/types/pod.h"

namespace berth::api {

// The group's entry that the pod's claim shares, when all three names agree; else null.
const GroupClaim* shared_entry(const PodGroup& group, const PodClaim& claim);
// The same for a pod that may be gone: its entry is called `entry` and the claim of it is `claim`.
bool is_claim_of(const PodGroup& group, std::string_view entry, const ResourceClaim& claim);

ClaimConsumer consumer_of(const ObjectMeta& pod);
ClaimConsumer consumer_of(const PodGroup& group);
bool is_group(const ClaimConsumer& consumer);

// As a kubelet judges it: by the pod's UID or its group's name, for a pod does not know its group's UID.
bool is_reserved_for(const ResourceClaim& claim, const Pod& pod);

}  // namespace berth::api
