#include "api/types/claim_consumer.h"

#include <algorithm>

namespace berth::api {
namespace {

constexpr std::string_view kSchedulingGroup = "scheduling.k8s.io";
constexpr std::string_view kPodGroups = "podgroups";

}  // namespace

const GroupClaim* shared_entry(const PodGroup& group, const PodClaim& claim) {
  for (const GroupClaim& entry : group.claims)
    if (entry.name == claim.name && entry.claim_name == claim.claim_name &&
        entry.template_name == claim.template_name)
      return &entry;
  return nullptr;
}

bool is_claim_of(const PodGroup& group, std::string_view entry, const ResourceClaim& claim) {
  const OwnerReference* owner = claim.meta.controller();
  return std::any_of(group.claims.begin(), group.claims.end(), [&](const GroupClaim& shared) {
    if (shared.name != entry) return false;
    return shared.template_name.empty() ? shared.claim_name == claim.meta.name
                                        : owner && owner->uid == group.meta.uid;
  });
}

ClaimConsumer consumer_of(const ObjectMeta& pod) {
  return {"", "pods", pod.name, pod.uid};
}

ClaimConsumer consumer_of(const PodGroup& group) {
  return {std::string(kSchedulingGroup), std::string(kPodGroups), group.meta.name, group.meta.uid};
}

bool is_group(const ClaimConsumer& consumer) {
  return consumer.api_group == kSchedulingGroup && consumer.resource == kPodGroups;
}

bool is_reserved_for(const ResourceClaim& claim, const Pod& pod) {
  return std::any_of(claim.reserved_for.begin(), claim.reserved_for.end(), [&](const auto& consumer) {
    return consumer.uid == pod.meta.uid ||
           (!pod.group.empty() && is_group(consumer) && consumer.name == pod.group);
  });
}

}  // namespace berth::api
