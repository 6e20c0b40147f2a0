// The table of all reasons for which pods are refused, one row each. Code compares rows and never parses a
// sentence.
//
// Texts are kube-scheduler's, byte for byte (observed on 1.37.0). A plugin may define rows in its own file;
// rows live as long as the process.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace berth::placement {

// UnschedulableAndUnresolvable: no eviction can help this pod onto this node.
enum class FilterStatus : std::uint8_t { Unschedulable, UnschedulableAndUnresolvable };

struct Reason {
  std::string_view id;        // unique
  std::string_view plugin;    // kube-scheduler's name; empty: the scheduler itself
  std::string_view text;      // Kubernetes'; each {} is replaced by a subject
  std::string_view singular;  // ours, after "1 of 4 nodes "; empty: the text is quoted
  std::string_view plural;    // ours, after "3 of 4 nodes "
  FilterStatus refusal = FilterStatus::UnschedulableAndUnresolvable;
  std::string_view unproved = {};  // why the node might take the pod all the same; empty: it cannot

  friend constexpr bool operator==(const Reason& a, const Reason& b) { return a.id == b.id; }
};

// Why a refusal proves nothing: the reason of `berth plan`'s Unknown.
inline constexpr std::string_view kSearchBudgetEnded = "SearchBudgetEnded";
inline constexpr std::string_view kFieldNotHonoured = "FieldNotHonoured";

// Replaces each {} of the text by a subject.
std::string with_subjects(std::string_view text, std::string_view first, std::string_view second = {},
                          std::string_view third = {});

inline constexpr std::string_view kDynamicResources = "DynamicResources";
inline constexpr std::string_view kVolumeBinding = "VolumeBinding";
inline constexpr std::string_view kGpuSharing = "GpuSharing";
inline constexpr std::string_view kVolumeRestrictions = "VolumeRestrictions";
inline constexpr std::string_view kNodeVolumeLimits = "NodeVolumeLimits";
inline constexpr std::string_view kVolumeZone = "VolumeZone";

inline constexpr auto kReasons = std::to_array<Reason>({
    {"TooManyPods", "NodeResourcesFit", "Too many pods", "runs as many pods as it may",
     "run as many pods as they may", FilterStatus::Unschedulable},
    {"InsufficientResource", "NodeResourcesFit", "Insufficient {}", "lacks {}", "lack {}",
     FilterStatus::Unschedulable},
    // Even an empty node would not have enough.
    {"InsufficientAllocatable", "NodeResourcesFit", "Insufficient {}", "lacks {}", "lack {}"},
    // The chosen devices take too much of the node, and not every other choice was tried.
    {"InsufficientResourceOfTried", "NodeResourcesFit", "Insufficient {}", "lacks {}", "lack {}",
     FilterStatus::Unschedulable, kSearchBudgetEnded},
    {"InsufficientAllocatableOfTried", "NodeResourcesFit", "Insufficient {}", "lacks {}", "lack {}",
     FilterStatus::UnschedulableAndUnresolvable, kSearchBudgetEnded},
    {"NoGpuShareLeft", kGpuSharing, "node(s) had no {} left", "has no {} left", "have no {} left",
     FilterStatus::Unschedulable},
    // Even without other pods: too few GPUs, or none of which the memory is known to suffice.
    {"NoGpuShareEver", kGpuSharing, "node(s) had no {}", "has no {}", "have no {}"},
    {"NodeAffinityMismatch", "NodeAffinity", "node(s) didn't match Pod's node affinity/selector",
     "does not match its node selector or affinity", "do not match its node selector or affinity"},
    {"NotNamedByAffinity", "NodeAffinity", "node(s) didn't satisfy plugin(s) [NodeAffinity]",
     "is not among the nodes its affinity names", "are not among the nodes its affinity names"},
    {"NodeUnschedulable", "NodeUnschedulable", "node(s) were unschedulable", "is cordoned", "are cordoned"},
    {"UntoleratedTaint", "TaintToleration", "node(s) had untolerated taint(s)",
     "has a taint it does not tolerate", "have a taint it does not tolerate"},
    {"NoFreePorts", "NodePorts", "node(s) didn't have free ports for the requested pod ports",
     "has one of its host ports in use", "have one of its host ports in use", FilterStatus::Unschedulable},
    {"FeaturesNotDeclared", "NodeDeclaredFeatures", "node(s) didn't match Pod's required features",
     "does not declare the features it needs", "do not declare the features it needs"},
    {"ReadWriteOncePodInUse", kVolumeRestrictions,
     "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
     "another pod",
     "cannot take it while another pod has its ReadWriteOncePod claim",
     "cannot take it while another pod has its ReadWriteOncePod claim", FilterStatus::Unschedulable},
    {"MaxVolumeCount", kNodeVolumeLimits, "node(s) exceed max volume count",
     "has as many volumes attached as its driver allows",
     "have as many volumes attached as their driver allows", FilterStatus::Unschedulable},
    {"DriverNotInstalled", kNodeVolumeLimits, "{} CSI driver is not installed on the node",
     "lacks the CSI driver {}", "lack the CSI driver {}", FilterStatus::Unschedulable},
    {"NoVolumeZone", kVolumeZone, "node(s) had no available volume zone",
     "is in another zone or region than the volume of its claim",
     "are in another zone or region than the volume of its claim"},
    {"NoVolumeToBind", kVolumeBinding, "node(s) didn't find available persistent volumes to bind",
     "has no volume for its claims, and none can be provisioned for it",
     "have no volume for its claims, and none can be provisioned for them"},
    {"VolumeElsewhere", kVolumeBinding, "node(s) didn't match PersistentVolume's node affinity",
     "cannot reach the volume of its claim", "cannot reach the volume of its claim"},
    {"NotEnoughStorage", kVolumeBinding, "node(s) did not have enough free storage",
     "has too little free storage for its claims", "have too little free storage for its claims"},
    {"VolumeMissing", kVolumeBinding,
     "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
     "is refused because the volume of its claim does not exist",
     "are refused because the volume of its claim does not exist"},
    {"MemberPriorityDiffers", "",
     "all pods in a single pod group should have the same priority as the pod group's priority, got {} and "
     "{}",
     "", ""},
    {"MemberSchedulerDiffers", "",
     "all pods in a single pod group should have the same scheduler name, got {} and {}", "", ""},
    {"BindFailureAvoided", "", "node(s) are avoided for a while after a failed binding",
     "is avoided for a while after a failed binding", "are avoided for a while after a failed binding",
     FilterStatus::Unschedulable},
    {"CannotAllocateClaims", kDynamicResources, "cannot allocate all claims", "has no devices for its claims",
     "have no devices for its claims"},
    // The search reached its budget.
    {"SearchEnded", kDynamicResources, "timed out trying to allocate devices",
     "was not searched to the end for devices", "were not searched to the end for devices",
     FilterStatus::Unschedulable, kSearchBudgetEnded},
    {"InvalidResourcePools", kDynamicResources, "invalid resource pools were encountered",
     "offers device pools that break the rules", "offer device pools that break the rules"},
    // The node cannot use the devices of an allocated claim.
    {"ClaimElsewhere", kDynamicResources, "resourceclaim not available on the node",
     "cannot reach the devices of its allocated claim", "cannot reach the devices of its allocated claim"},
    {"MappedClaimShared", kDynamicResources,
     "node allocatable resource claim {} has a mapped device and cannot be shared across pods", "", ""},
    // The pod's status can only record claims that the pod or its status names; kube-scheduler fails at
    // binding.
    {"DevicesNotRecordable", kDynamicResources,
     "extended resources would be served by devices that take resources of the node", "", ""},
    {"PodRequestExceeded", kDynamicResources,
     "pod level request for {} is insufficient to cover the aggregated container and node-allocatable DRA "
     "requests",
     "", ""},
    {"PodLimitExceeded", kDynamicResources,
     "pod level limit for {} is insufficient to cover the aggregated container and node-allocatable DRA "
     "limits",
     "", ""},
    {"PodLimitOfContainerExceeded", kDynamicResources,
     "pod level limit for {} is insufficient to cover the limit and DRA overhead for container {}", "", ""},
    {"InvalidClaims", kDynamicResources, "{}", "", ""},  // the allocator's error

    // About the pod, not about a node.
    {"FieldNotHonoured", "", "pod sets {}, which Berth does not honour yet", "", "",
     FilterStatus::UnschedulableAndUnresolvable, kFieldNotHonoured},
    {"InvalidGpuShare", kGpuSharing,
     "the pod asks for a share of a GPU with annotations that break the rules: see {} and {}", "", ""},
    {"VolumeClaimNotFound", kVolumeBinding, "persistentvolumeclaim \"{}\" not found", "", ""},
    {"EphemeralClaimNotMade", kVolumeBinding,
     "waiting for ephemeral volume controller to create the persistentvolumeclaim \"{}\"", "", ""},
    {"VolumeClaimLost", kVolumeBinding,
     "persistentvolumeclaim \"{}\" bound to non-existent persistentvolume \"{}\"", "", ""},
    {"VolumeClaimDeleting", kVolumeBinding, "persistentvolumeclaim \"{}\" is being deleted", "", ""},
    {"VolumeClaimOfOther", kVolumeBinding, "PVC {} was not created for pod {} (pod is not owner)", "", ""},
    {"VolumeNotFound", kVolumeZone, "persistentvolume \"{}\" not found", "", ""},
    {"UnboundImmediateClaims", kVolumeBinding, "pod has unbound immediate PersistentVolumeClaims", "", ""},
    {"ClaimNotFound", kDynamicResources, "resourceclaim \"{}\" not found", "", ""},
    {"ClaimBeingAllocated", kDynamicResources, "resource claim {} is in the process of being allocated", "",
     ""},
    {"ClaimFull", kDynamicResources, "resource claim {} has as many consumers as a claim can have, {}", "",
     ""},
    {"ClaimDeviceHeldTwice", kDynamicResources,
     "resource claim {} is allocated a device that another claim holds", "", ""},
    {"DeviceClassMissing", kDynamicResources, "request {}: device class {} does not exist", "", ""},
    {"TooManyExtendedResources", kDynamicResources,
     "the pod asks for more than {} extended resources that devices serve", "", ""},
    {"EarlierExtendedClaim", kDynamicResources, "resource claim {} of an earlier attempt is still there", "",
     ""},
});

// An id that is not in the table does not compile.
consteval const Reason& reason_row(std::string_view id) {
  for (const Reason& row : kReasons)
    if (row.id == id) return row;
  throw "no such reason";
}

}  // namespace berth::placement
