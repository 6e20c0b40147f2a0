#include "api/types/bind_request.h"

#include <array>

#include "api/kinds.h"
#include "api/types/gang_record.h"

namespace berth::api {
namespace {

constexpr std::array<std::string_view, 3> kPhases = {"Pending", "Succeeded", "Failed"};
constexpr std::array<std::string_view, 9> kSteps = {
    "",        "Reserving", "WaitingForVolumes", "WaitingForDevices", "WaitingForGang",
    "Binding", "Bound",     "RollingBack",       "RolledBack"};
constexpr std::array<std::string_view, 4> kFailures = {"", "Permanent", "SamePlacement", "OtherPlacement"};

template <class Enum, std::size_t N>
Enum from_name(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == name) return static_cast<Enum>(i);
  return Enum{};
}

void decode_status(const Json& status, BindRequest& request) {
  const std::string_view decided = status.string_at("decisionID");
  request.status_is_stale = !decided.empty() && decided != request.decision_id;
  request.status_names_decision = !decided.empty() && !request.status_is_stale;
  if (request.status_is_stale) return;
  request.phase = from_name<BindPhase>(kPhases, status.string_at("phase"));
  request.step = from_name<BindStep>(kSteps, status.string_at("step"));
  request.reason = status.string_at("reason");
  request.message = status.string_at("message");
  request.failed_attempts = static_cast<std::int32_t>(status.int_at("failedAttempts"));
  request.next_attempt = decode_time(status.string_at("nextAttemptTime"));
  request.terminal = status.bool_at("terminal");
  request.failure = from_name<FailureClass>(kFailures, status.string_at("failureClass"));
  request.committed = status.bool_at("committed");
  request.observed_generation = status.int_at("observedGeneration");
  request.conditions = decode_conditions(status.items_at("conditions"));
}

Json group_json(const BindGroup& group) {
  JsonObject json;
  json.reserve(5);
  json.append("name", group.name);
  json.append("uid", group.uid);
  json.append("size", std::int64_t{group.size});
  if (!group.root.name.empty())
    json.append("root", Json::object({{"name", group.root.name}, {"uid", group.root.uid}}));
  if (!group.domain.empty()) json.append("domain", group.domain);
  return json;
}

Json claim_json(const ClaimAllocation& claim) {
  JsonObject json;
  json.reserve(4);
  json.append("name", claim.name);
  json.append("claimName", claim.claim_name);
  json.append("claimUID", claim.claim_uid);
  json.append("allocation", to_json(claim.allocation));
  return json;
}

}  // namespace

// Every placed pod has one, so its members are appended, without copies and searches.
Json bind_request_spec(const BindRequest& request) {
  constexpr std::size_t kMembersUsual = 10;
  Json spec = JsonObject();
  JsonObject& members = spec.as_object();
  members.reserve(kMembersUsual);
  members.append("podName", request.pod_name);
  members.append("podUID", request.pod_uid);
  members.append("selectedNode", request.node);
  if (!request.group.name.empty()) members.append("group", group_json(request.group));
  members.append("decisionID", request.decision_id);
  if (request.withdrawn) members.append("withdrawn", true);
  if (!request.scheduler_name.empty()) members.append("schedulerName", request.scheduler_name);
  set_term(spec, request.epoch, request.lease);
  if (request.deadline.is_set()) spec["deadline"] = format_time(request.deadline);
  JsonArray claims;
  for (const ClaimAllocation& claim : request.claims) {
    if (claim.extended)
      spec["extendedResourceClaim"] = Json::object({{"claimName", claim.claim_name},
                                                    {"requests", claim.extended->requests},
                                                    {"requestMappings", claim.extended->mappings},
                                                    {"allocation", to_json(claim.allocation)}});
    else
      claims.push_back(claim_json(claim));
  }
  if (!claims.empty()) members.append("resourceClaimAllocations", std::move(claims));
  JsonArray volumes;
  for (const VolumeBinding& binding : request.volumes) {
    Json& item = volumes.emplace_back(
        Json::object({{"claimName", binding.claim_name}, {"claimUID", binding.claim_uid}}));
    if (!binding.volume.empty()) item["volumeName"] = binding.volume;
  }
  if (!volumes.empty()) spec["volumeBindings"] = std::move(volumes);
  if (!request.gpu_share.empty()) {
    spec["receivedResourceType"] = kFractionReceived;
    spec["receivedGPU"] = Json::object({{"count", static_cast<std::int64_t>(request.gpu_share.groups.size())},
                                        {"portion", gpu_portion(request.gpu_share.hundredths)}});
    spec["selectedGPUGroups"] = to_json(request.gpu_share.groups);
  }
  if (!request.node_allocatable.empty())
    spec["nodeAllocatableResourceClaimStatuses"] = to_json(request.node_allocatable);
  if (request.backoff_limit) spec["backoffLimit"] = std::int64_t{*request.backoff_limit};
  return spec;
}

bool is_blameless(std::string_view reason) {
  return reason == kGangIncomplete || reason == kGangMemberFailed || reason == kWithdrawn ||
         reason == kDeviceTaken || reason == kVolumeTaken || reason == kStaleEpoch ||
         reason == kBenignConditionsFailed || reason == kGpuShareTaken;
}

bool is_failing(const BindRequest& request) {
  return request.step == BindStep::RollingBack || request.phase == BindPhase::Failed;
}

bool is_bound_by(const Pod& pod, const BindRequest& request) {
  return pod.bound() && pod.node_name == request.node && pod.meta.uid == request.pod_uid;
}

bool failed_for_good(const BindRequest& request) {
  return request.phase == BindPhase::Failed &&
         (request.terminal || request.failed_attempts > request.backoff_limit.value_or(kBackoffLimitDefault));
}

std::string extended_claim_name(std::string_view pod_name, std::string_view pod_uid) {
  constexpr std::size_t kBaseMax = 58;  // the length at which the API server truncates generated names
  std::string name = std::string(pod_name).append("-extended-resources-").substr(0, kBaseMax);
  const bool numbered = pod_uid.size() >= 8;
  return name.append(numbered ? pod_uid.substr(0, 8) : pod_uid);
}

std::string bind_request_name(std::string_view pod_name, std::string_view pod_uid) {
  constexpr std::size_t kNameMax = 253, kUidPart = 8;
  std::string name(pod_name.substr(0, kNameMax - kUidPart - 1));
  return name.append("-").append(pod_uid.substr(0, kUidPart));
}

std::string_view name_of(BindPhase phase) {
  return kPhases[static_cast<std::size_t>(phase)];
}
std::string_view name_of(BindStep step) {
  return kSteps[static_cast<std::size_t>(step)];
}

std::span<const std::string_view> phase_names() {
  return kPhases;
}
std::span<const std::string_view> step_names() {
  return kSteps;
}

std::string_view name_of(FailureClass failure) {
  return kFailures[static_cast<std::size_t>(failure)];
}

void decode_bind_request_spec(const Json& spec, BindRequest& request) {
  request.pod_name = spec.string_at("podName");
  request.pod_uid = spec.string_at("podUID");
  request.node = spec.string_at("selectedNode");
  const Json& group = spec.part("group");
  request.group = {
      std::string(group.string_at("name")),
      std::string(group.string_at("uid")),
      static_cast<std::int32_t>(group.int_at("size")),
      {std::string(group.part("root").string_at("name")), std::string(group.part("root").string_at("uid"))},
      std::string(group.string_at("domain"))};
  request.decision_id = spec.string_at("decisionID");
  request.withdrawn = spec.bool_at("withdrawn");
  request.scheduler_name = spec.string_at("schedulerName");
  request.epoch = static_cast<std::uint64_t>(spec.int_at("epoch"));
  const Json& lease = spec.part("lease");
  request.lease = {std::string(lease.string_at("namespace")), std::string(lease.string_at("name")),
                   std::string(lease.string_at("uid"))};
  request.received_resource_type = spec.string_at("receivedResourceType");
  const Json& gpu = spec.part("receivedGPU");
  request.received_gpu_count = static_cast<std::int32_t>(gpu.int_at("count"));
  request.gpu_share.hundredths = parse_gpu_portion(gpu.string_at("portion")).value_or(0);
  request.gpu_share.groups = decode_strings(spec.items_at("selectedGPUGroups"));
  request.deadline = decode_time(spec.string_at("deadline"));
  for (const Json& item : spec.items_at("resourceClaimAllocations"))
    request.claims.push_back({std::string(item.string_at("name")), std::string(item.string_at("claimName")),
                              std::string(item.string_at("claimUID")),
                              decode_allocation(item.part("allocation"))});
  if (const Json* made = spec.find("extendedResourceClaim"); made && made->is_object())
    request.claims.push_back({"", std::string(made->string_at("claimName")), "",
                              decode_allocation(made->part("allocation")),
                              ExtendedClaim{made->part("requests"), made->part("requestMappings")}});
  for (const Json& item : spec.items_at("volumeBindings"))
    request.volumes.push_back({std::string(item.string_at("claimName")),
                               std::string(item.string_at("claimUID")),
                               std::string(item.string_at("volumeName"))});
  request.node_allocatable =
      decode_node_allocatable_claims(spec.items_at("nodeAllocatableResourceClaimStatuses"));
  if (const Json* limit = spec.find("backoffLimit"); limit && limit->is_int())
    request.backoff_limit = static_cast<std::int32_t>(limit->as_int());
}

BindRequest decode_bind_request(const Json& object, RawPtr raw) {
  BindRequest request = begin_decoded<BindRequest>(object, std::move(raw));
  if (is_gang_record(object)) return request;
  decode_bind_request_spec(object.part("spec"), request);
  decode_status(object.part("status"), request);
  return request;
}

Json extended_claim_object(const ObjectMeta& pod, const std::string& name, const ExtendedClaim& claim) {
  const OwnerReference owner{"v1", "Pod", pod.name, pod.uid, true, false};
  Json metadata =
      Json::object({{"name", name},
                    {"generateName", pod.name + "-extended-resources-"},
                    {"namespace", pod.ns},
                    {"annotations", Json::object({{std::string(kExtendedResourceClaimAnnotation), "true"}})},
                    {"ownerReferences", Json::array({to_json(owner)})},
                    {"finalizers", Json::array({kClaimFinalizer})}});
  return Json::object({{"apiVersion", "resource.k8s.io/v1"},
                       {"kind", "ResourceClaim"},
                       {"metadata", std::move(metadata)},
                       {"spec", Json::object({{"devices", Json::object({{"requests", claim.requests}})}})}});
}

OwnerReference owner_of(const BindRequest& request) {
  return {"v1", "Pod", request.pod_name, request.pod_uid, false, false};
}

Json bind_request_object(const BindRequest& request) {
  JsonArray owners;
  owners.push_back(to_json(owner_of(request)));
  JsonObject metadata;
  metadata.reserve(4);
  metadata.append("name", request.meta.name);
  metadata.append("namespace", request.meta.ns);
  metadata.append("ownerReferences", std::move(owners));
  if (!request.meta.labels.empty()) metadata.append("labels", to_json(request.meta.labels));
  JsonObject object;
  object.reserve(4);
  object.append("apiVersion", kBindRequestApiVersion);
  object.append("kind", "BindRequest");
  object.append("metadata", std::move(metadata));
  object.append("spec", bind_request_spec(request));
  return object;
}

Json replacing_object(const BindRequest& standing, const BindRequest& request) {
  Json object = standing.raw ? parse_json(*standing.raw).value_or(Json()) : Json();
  if (!object.is_object()) object = bind_request_object(standing);
  object["metadata"]["resourceVersion"] = std::to_string(standing.meta.resource_version);
  object["metadata"]["uid"] = standing.meta.uid;
  object["spec"] = bind_request_spec(request);
  object.as_object().erase("status");
  return object;
}

void set_term(Json& spec, std::uint64_t epoch, const LeaseIdentity& lease) {
  if (epoch == 0) return;
  spec["epoch"] = static_cast<std::int64_t>(epoch);
  if (!lease.empty())
    spec["lease"] = Json::object({{"namespace", lease.ns}, {"name", lease.name}, {"uid", lease.uid}});
}

Json bind_request_status(const BindRequest& request) {
  Json status = Json::object({{"phase", name_of(request.phase)}, {"step", name_of(request.step)}});
  if (!request.decision_id.empty()) status["decisionID"] = request.decision_id;
  if (!request.reason.empty()) status["reason"] = request.reason;
  if (!request.message.empty()) status["message"] = request.message;
  if (request.failed_attempts != 0) status["failedAttempts"] = std::int64_t{request.failed_attempts};
  if (request.next_attempt.is_set()) status["nextAttemptTime"] = format_time(request.next_attempt);
  if (request.terminal) status["terminal"] = true;
  if (request.failure != FailureClass::None) status["failureClass"] = name_of(request.failure);
  if (request.committed) status["committed"] = true;
  if (request.observed_generation != 0) status["observedGeneration"] = request.observed_generation;
  if (!request.conditions.empty()) {
    JsonArray conditions;
    for (const Condition& condition : request.conditions) conditions.push_back(to_json(condition));
    status["conditions"] = std::move(conditions);
  }
  return status;
}

}  // namespace berth::api
