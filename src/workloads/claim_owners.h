// Who owns the claim of a StatefulSet's pod: persistentVolumeClaimRetentionPolicy.
//
// Pure; any thread. Source: kube-controller-manager 1.37, pkg/controller/statefulset.
#pragma once

#include <optional>
#include <vector>

#include "api/types/meta.h"

namespace berth::workloads {

struct ClaimRetention {
  bool with_set = false;      // whenDeleted: Delete
  bool with_replica = false;  // whenScaled: Delete
};

// A claim's set, and its pod; each by the reference with which it controls the claim. The pod's UID is empty
// while it does not exist.
struct ClaimUsers {
  api::OwnerReference set;
  api::OwnerReference pod;
  bool scaled_down = false;  // the pod is beyond the wanted ordinals
};

// Another controller has the claim, or an earlier set or pod of the same name: the policy is not applied.
bool has_other_controller(const std::vector<api::OwnerReference>& owners, const ClaimUsers& users,
                          ClaimRetention retention);
// An earlier pod of the name owns the claim: it goes with that pod.
bool is_of_earlier_pod(const std::vector<api::OwnerReference>& owners, const api::OwnerReference& pod);
// What the owners become; nothing when they stand so, or are those of an earlier set or pod.
std::optional<std::vector<api::OwnerReference>> claim_owners(const std::vector<api::OwnerReference>& owners,
                                                             const ClaimUsers& users,
                                                             ClaimRetention retention);

}  // namespace berth::workloads
