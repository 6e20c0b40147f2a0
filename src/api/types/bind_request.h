// scheduling.berth.dev/v1alpha1 BindRequest: the scheduler's decision for one pod, and the steps of its
// binding.
//
// A pod has one BindRequest for its whole life, named after it ("<pod>-<first 8 of the pod's UID>") and owned
// by it. The scheduler owns spec: it replaces the decision as a whole, on a resourceVersion, and only after
// the previous one has failed. So the object itself is the tombstone of every earlier decision: a late create
// or replacement gets AlreadyExists or Conflict. The binder owns status; a status of an earlier decision
// reads as empty. Source: the Binder document; fields beyond it: pod UID, group, decision id, withdrawn,
// scheduler name and term, deadline, progress.
#pragma once

#include <span>

#include "api/types/dra.h"
#include "api/types/gpu_share.h"

namespace berth::api {

// The claim for a pod's extended resources; the binder creates it. Source: KEP-5004.
struct ExtendedClaim {
  Json requests;  // spec.devices.requests of the claim
  Json mappings;  // status.extendedResourceClaimStatus.requestMappings of the pod
};

// One claim of the pod and its decided allocation.
struct ClaimAllocation {
  std::string name;        // of pod.spec.resourceClaims
  std::string claim_name;  // the ResourceClaim object
  std::string claim_uid;   // empty for an extended claim: its owner identifies it
  Allocation allocation;
  std::optional<ExtendedClaim> extended = std::nullopt;
};

// A claim of the pod that was not bound when its node was chosen.
struct VolumeBinding {
  std::string claim_name;  // the PersistentVolumeClaim
  std::string claim_uid;
  std::string volume;  // the PersistentVolume; empty: one is provisioned for the node
  friend bool operator==(const VolumeBinding&, const VolumeBinding&) = default;
};

// What a pod takes of its node and of the cluster besides its requests, by names.
struct PodReservation {
  std::vector<ClaimAllocation> claims;
  std::vector<VolumeBinding> volumes;
  NodeAllocatableClaims node_allocatable;  // for the pod's status
  GpuShare gpu_share;                      // 0 hundredths: its portion cannot be read
};

enum class BindPhase { Pending, Succeeded, Failed };

// The steps of the binding process. The current step can always be derived from the live objects.
// RollingBack: this binding is decided to fail; its resources are being released.
enum class BindStep {
  None,
  Reserving,
  WaitingForVolumes,
  WaitingForDevices,
  WaitingForGang,
  Binding,
  Bound,
  RollingBack,
  RolledBack
};

// The reaction that a failure requires.
enum class FailureClass {
  None,
  Permanent,       // fails again until the pod or its references change
  SamePlacement,   // the same placement may succeed later
  OtherPlacement,  // needs another placement
};

// Reasons of requests that ended because of their gang or of the scheduler.
inline constexpr std::string_view kGangIncomplete = "GangIncomplete";  // requests of its gang are missing
inline constexpr std::string_view kGangMemberFailed = "GangMemberFailed";
inline constexpr std::string_view kWithdrawn = "Withdrawn";
// A claim already has the device: two terms of a scheduler, or two schedulers, decided for it.
inline constexpr std::string_view kDeviceTaken = "DeviceTaken";
// Written by a scheduler after another one had replaced it.
inline constexpr std::string_view kStaleEpoch = "StaleEpoch";
// A device's failure condition that is configured as benign: choose again, and nothing is to be avoided.
inline constexpr std::string_view kBenignConditionsFailed = "BenignConditionsFailed";
// The provisioner gave up for the node, the wait was too long, or another claim has the volume.
inline constexpr std::string_view kProvisioningFailed = "ProvisioningFailed";
inline constexpr std::string_view kVolumeBindingTimeout = "VolumeBindingTimeout";
inline constexpr std::string_view kVolumeTaken = "VolumeTaken";
// Other pods have taken the GPU share in the meantime.
inline constexpr std::string_view kGpuShareTaken = "GpuShareTaken";
// Neither the node nor the devices of the request have failed.
bool is_blameless(std::string_view reason);

// Types of the conditions in status. Bound: always there; its reason is that of the failure, or the step.
// PostBindCompleted: only False, when plugins' writes after the binding were given up.
inline constexpr std::string_view kBound = "Bound";
inline constexpr std::string_view kPostBindCompleted = "PostBindCompleted";

// The CompositePodGroup at the root of a tree of groups.
struct GroupRoot {
  std::string name;  // empty: the group is in no tree
  std::string uid;
  friend bool operator==(const GroupRoot&, const GroupRoot&) = default;
};

struct BindGroup {
  std::string name;  // PodGroup; empty: the pod has no gang
  std::string uid;
  std::int32_t size =
      0;  // members of this decision that wait for each other; 0 and 1: the pod waits for no other
  GroupRoot root = {};      // of a decision about a tree: its members wait for each other over all groups
  std::string domain = {};  // group_domain.h; empty: the group has no topology
};

// A Lease: its UID differs from that of an earlier or later one of the same name.
struct LeaseIdentity {
  std::string ns, name, uid;
  bool empty() const { return uid.empty(); }
  friend auto operator<=>(const LeaseIdentity&, const LeaseIdentity&) = default;
};

// The part that the binder owns. A new one says nothing.
struct BindStatus {
  BindPhase phase = BindPhase::Pending;
  BindStep step = BindStep::None;
  std::string reason;   // CamelCase
  std::string message;  // for a person
  std::int32_t failed_attempts = 0;
  Time next_attempt;
  bool terminal = false;  // with phase Failed: nothing is tried again, whatever failed_attempts says
  FailureClass failure = FailureClass::None;
  bool committed = false;        // its gang was committed when this status was written
  bool status_is_stale = false;  // the stored status belongs to an earlier decision and reads as empty
  bool status_names_decision = false;
  std::int64_t observed_generation = 0;  // of the spec that the status is about
  std::vector<Condition> conditions;
  friend bool operator==(const BindStatus&, const BindStatus&) = default;
};

struct BindRequest : PodReservation, BindStatus {
  RawPtr raw;  // null: made in this process
  ObjectMeta meta;
  bool in_memory = false;  // this process keeps it, and there is no object (binding/memory_requests.h)

  std::string pod_name;
  std::string pod_uid;
  std::string node;
  BindGroup group;
  std::string decision_id;
  bool withdrawn = false;  // the scheduler takes the decision back: the binder releases everything
  // The deciding scheduler, by the name that pods use, and its term (client::Leadership) when the object was
  // written: a later term may write what was kept in memory. 0: no election. Without a Lease: of an earlier
  // release.
  std::string scheduler_name;
  std::uint64_t epoch = 0;
  LeaseIdentity lease;
  Time deadline;
  std::string received_resource_type;  // "Fraction" with a share; of another scheduler also "Regular"
  std::int32_t received_gpu_count = 0;
  std::optional<std::int32_t> backoff_limit;  // attempts after the first; absent means kBackoffLimitDefault
};
using BindRequestPtr = std::shared_ptr<const BindRequest>;

inline constexpr std::int32_t kBackoffLimitDefault = 4;
inline constexpr std::string_view kBindRequestApiVersion = "scheduling.berth.dev/v1alpha1";

// True when no binding is expected of the request any more: it failed for good.
bool failed_for_good(const BindRequest& request);
// The pod that the request was decided for, on the decided node.
bool is_bound_by(const Pod& pod, const BindRequest& request);
// The request's decision has failed, or is failing.
bool is_failing(const BindRequest& request);
// The name of the claim for the pod's extended resources: the same for every attempt, so a repeated create
// finds it.
std::string extended_claim_name(std::string_view pod_name, std::string_view pod_uid);
std::string bind_request_name(std::string_view pod_name, std::string_view pod_uid);

std::string_view name_of(BindPhase phase);  // "Pending", "Succeeded", "Failed"
std::string_view name_of(BindStep step);    // "", "Reserving", …
std::span<const std::string_view> phase_names();
std::span<const std::string_view> step_names();  // by BindStep
std::string_view name_of(FailureClass failure);

// For a gang's record only the metadata: it belongs to no pod.
BindRequest decode_bind_request(const Json& object, RawPtr raw);
// The ResourceClaim object for a create: owned by the pod, annotated as in Kubernetes, with the finalizer.
Json extended_claim_object(const ObjectMeta& pod, const std::string& name, const ExtendedClaim& claim);
// The pod, which owns its request.
OwnerReference owner_of(const BindRequest& request);
// The whole object for a create, owner reference included.
Json bind_request_object(const BindRequest& request);
Json bind_request_spec(const BindRequest& request);
void decode_bind_request_spec(const Json& spec, BindRequest& request);
// The object for an update that replaces the decision of `standing` by that of `request`, on its version.
Json replacing_object(const BindRequest& standing, const BindRequest& request);
// The term of a BindRequest's spec: `epoch` 0 writes nothing.
void set_term(Json& spec, std::uint64_t epoch, const LeaseIdentity& lease);
// The status alone.
Json bind_request_status(const BindRequest& request);

}  // namespace berth::api
