// scheduling.berth.dev/v1alpha1 BindRequest: the scheduler's decision for one pod, and the steps of its
// binding.
//
// A pod has one BindRequest for its whole life, named after it ("<pod>-<first 8 of the pod's UID>") and owned
// by it. The scheduler owns spec: it replaces the decision as a whole, on a resourceVersion, and only after
// the one before has failed. So the object itself is the tombstone of every decision before: a create or a
// replacement that lands late meets AlreadyExists or Conflict. The binder owns status; a status of an earlier
// decision reads as empty. Source: the Binder document; fields beyond it: pod UID, group, decision id,
// withdrawn, scheduler name and epoch, deadline, progress.
#pragma once

#include "api/types/dra.h"

namespace berth::api {

// The claim that stands for a pod's extended resources; the binder makes it. Source: KEP-5004.
struct ExtendedClaim {
  Json requests;  // spec.devices.requests of the claim
  Json mappings;  // status.extendedResourceClaimStatus.requestMappings of the pod
};

// One claim of the pod and what it is to become.
struct ClaimAllocation {
  std::string name;        // of pod.spec.resourceClaims
  std::string claim_name;  // the ResourceClaim object
  std::string claim_uid;   // empty for an extended claim: it is told by its owner
  Allocation allocation;
  std::optional<ExtendedClaim> extended = std::nullopt;
};

enum class BindPhase { Pending, Succeeded, Failed };

// The binding process. A position can always be found again from the live objects. RollingBack: it is decided
// that this binding fails; what it owns is being given back.
enum class BindStep {
  None,
  Reserving,
  WaitingForDevices,
  WaitingForGang,
  Binding,
  Bound,
  RollingBack,
  RolledBack
};

// What a failure asks for.
enum class FailureClass {
  None,
  Permanent,       // nothing helps until the pod or what it refers to changes
  SamePlacement,   // the same may succeed later
  OtherPlacement,  // choose again, elsewhere if possible
};

// Reasons of requests that ended because of their gang or of the scheduler.
inline constexpr std::string_view kGangIncomplete = "GangIncomplete";  // the gang was never asked for in full
inline constexpr std::string_view kGangMemberFailed = "GangMemberFailed";
inline constexpr std::string_view kWithdrawn = "Withdrawn";
// A claim has the device already: two terms of schedulers, or two schedulers, decided for it.
inline constexpr std::string_view kDeviceTaken = "DeviceTaken";
// Written by a scheduler that another had replaced by then.
inline constexpr std::string_view kStaleEpoch = "StaleEpoch";
// Neither the node nor the devices of the request have failed.
bool is_blameless(std::string_view reason);

struct BindGroup {
  std::string name;  // PodGroup; empty: the pod stands alone
  std::string uid;
  std::int32_t size =
      0;  // members of this decision that wait for each other; 0 and 1: the pod waits for nobody
};

struct BindRequest {
  RawPtr raw;
  ObjectMeta meta;

  std::string pod_name;
  std::string pod_uid;
  std::string node;
  BindGroup group;
  std::string decision_id;
  bool withdrawn = false;  // the scheduler takes the decision back: the binder gives everything back
  // Who decided, as the pod names it, and in which of its terms (client::Leadership) the object was written:
  // what was kept in memory may be written by a later one. 0: no election.
  std::string scheduler_name;
  std::uint64_t epoch = 0;
  Time deadline;
  std::vector<ClaimAllocation> claims;
  NodeAllocatableClaims node_allocatable;     // what the pod's status is to say
  std::optional<std::int32_t> backoff_limit;  // attempts after the first; absent means kBackoffLimitDefault

  BindPhase phase = BindPhase::Pending;
  BindStep step = BindStep::None;
  std::string reason;   // CamelCase
  std::string message;  // for a person
  std::int32_t failed_attempts = 0;
  Time next_attempt;
  bool terminal = false;  // with phase Failed: whatever failed_attempts says, nothing is tried again
  FailureClass failure = FailureClass::None;
  bool committed = false;        // its gang was committed when this status was written
  bool status_is_stale = false;  // the stored status is of an earlier decision and reads as empty
  bool status_names_decision = false;
  std::vector<Condition> conditions;
};

inline constexpr std::int32_t kBackoffLimitDefault = 4;
inline constexpr std::string_view kBindRequestApiVersion = "scheduling.berth.dev/v1alpha1";

// True when the request no longer stands for an expected binding: it failed for good.
bool failed_for_good(const BindRequest& request);
// The decision has failed, or is failing, for this request.
bool is_failing(const BindRequest& request);
// Of the claim for the pod's extended resources: the same again for every try, so a repeated create finds it.
std::string extended_claim_name(std::string_view pod_name, std::string_view pod_uid);
std::string bind_request_name(std::string_view pod_name, std::string_view pod_uid);

std::string_view name_of(BindPhase phase);  // "Pending", "Succeeded", "Failed"
std::string_view name_of(BindStep step);    // "", "Reserving", …
std::string_view name_of(FailureClass failure);

// Of a gang's record nothing but the metadata: it stands for no pod.
BindRequest decode_bind_request(const Json& object, RawPtr raw);
// The ResourceClaim object for a create: owned by the pod, annotated as Kubernetes has it, protected.
Json extended_claim_object(const ObjectMeta& pod, const std::string& name, const ExtendedClaim& claim);
// The whole object for a create, owner reference included.
Json bind_request_object(const BindRequest& request);
// The object for an update that replaces the decision of `standing` by that of `request`, on its version.
Json replacing_object(const BindRequest& standing, const BindRequest& request);
// The status alone.
Json bind_request_status(const BindRequest& request);

// The BindRequests of gangs' decisions in one object, a BindRequest that has their specs in spec.members and
// no pod of its own (`bindRequests: WhenWaiting`; binding/memory_requests.h). Its name follows from what is
// in it, so a repeated create finds itself. Its PodGroups own it. `requests`: at least one, as
// bind_request_object() makes them, of one namespace, scheduler and epoch.
Json gang_record_object(const std::vector<Json>& requests);
bool is_gang_record(const Json& object);
// As bind_request_object() makes them; members without a pod's name are left out.
std::vector<Json> requests_of_gang_record(const Json& record);

}  // namespace berth::api
