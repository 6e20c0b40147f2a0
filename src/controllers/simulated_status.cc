#include "controllers/simulated_status.h"

#include <algorithm>

#include "api/serialized.h"
#include "api/types/gpu_share.h"
#include "base/hex.h"
#include "base/stable_hash.h"
#include "controllers/simulated.h"
#include "controllers/simulated_containers.h"

namespace berth::controllers {
namespace {

constexpr std::string_view kScheduled = "PodScheduled", kInitialized = "Initialized";
constexpr std::string_view kSandboxIsReady = "PodReadyToStartContainers";
constexpr std::string_view kBackOffReason = "CrashLoopBackOff";

std::string digest_of(std::string_view seed) {
  std::string digest;
  for (char part = 'a'; part < 'e'; ++part) digest += hex_of(stable_hash(std::string(seed) + part));
  return digest;
}

std::string container_id(const api::Pod& pod, const api::Container& container, std::int64_t restarts) {
  const std::string run = restarts > 0 ? "/" + std::to_string(restarts) : "";
  return "containerd://" + digest_of(pod.meta.uid + "/" + container.name + run);
}

Json terminated(const ContainerRun& run, const std::string& id) {
  const bool failed = run.exit_code != 0;
  return Json::object({{"terminated", Json::object({{"exitCode", run.exit_code},
                                                    {"reason", failed ? "Error" : "Completed"},
                                                    {"startedAt", format_time(run.started)},
                                                    {"finishedAt", format_time(run.ended)},
                                                    {"containerID", id}})}});
}

Json waiting(std::string_view reason, std::string message = "") {
  Json state = Json::object({{"reason", reason}});
  if (!message.empty()) state["message"] = std::move(message);
  return Json::object({{"waiting", std::move(state)}});
}

// "10s", "5m0s": of less than an hour.
std::string delay_text(Duration delay) {
  const std::int64_t seconds = delay.whole_seconds(), minutes = seconds / 60;
  return (minutes > 0 ? std::to_string(minutes) + "m" : "") + std::to_string(seconds % 60) + "s";
}

Json state_json(const api::Pod& pod, const api::Container& container, const ContainersAre& are,
                const std::string& id) {
  switch (are.state) {
    case ContainerState::Creating:
      return waiting(pod.init_containers.empty() ? "ContainerCreating" : "PodInitializing");
    case ContainerState::Running:
      return Json::object({{"running", Json::object({{"startedAt", format_time(are.started)}})}});
    case ContainerState::BackingOff:
      return waiting(kBackOffReason, "back-off " + delay_text(are.delay) + " restarting failed container=" +
                                         container.name + " pod=" + pod_text(pod));
    case ContainerState::Ended:
      return terminated(*are.last, id);
  }
  return Json::object();
}

// `before` is the container's earlier status, or null.
Json container_status(const api::Pod& pod, const api::Container& container, const ContainersAre& are,
                      bool ready, const Json& before) {
  const std::int64_t had = before.int_at("restartCount"), restarts = had + (are.is_restart ? 1 : 0);
  const std::string id = container_id(pod, container, restarts);
  Json json = Json::object({{"name", container.name},
                            {"state", state_json(pod, container, are, id)},
                            {"lastState", Json::object()},
                            {"ready", ready},
                            {"restartCount", restarts},
                            {"image", container.image},
                            {"imageID", container.image + "@sha256:" + digest_of(container.image)},
                            {"containerID", id},
                            {"started", are.state == ContainerState::Running}});
  if (are.last && are.state != ContainerState::Ended)
    json["lastState"] = terminated(*are.last, container_id(pod, container, had));
  else if (const Json& last = before.part("lastState"); last.is_object())
    json["lastState"] = last;
  // A device that a plugin or a driver reported stays known.
  constexpr std::string_view kHealth = "allocatedResourcesStatus";
  if (const Json* health = before.find(kHealth)) json[kHealth] = *health;
  if (are.state != ContainerState::Creating) return json;
  json["imageID"] = "";
  json.as_object().erase("containerID");
  return json;
}

// A condition after the standing one, whose reason and message a patch would keep.
Json condition(const api::Pod& pod, std::string_view type, bool status, std::string_view reason, Time since,
               std::string_view message = "") {
  Json json = Json::object({{"type", type}, {"status", status ? "True" : "False"}});
  const api::Condition* standing = api::find_condition(pod.conditions, type);
  const auto set = [&](std::string_view member, std::string_view text, bool stands) {
    if (!text.empty())
      json[member] = text;
    else if (stands)
      json[member] = Json();
  };
  set("reason", reason, standing && !standing->reason.empty());
  set("message", message, standing && !standing->message.empty());
  json["lastTransitionTime"] = format_time(since);
  if (pod.meta.generation > 0) json["observedGeneration"] = pod.meta.generation;
  return json;
}

// That a standing condition, which a patch leaves as it is, holds for the present spec.
void add_observation(const api::Pod& pod, std::string_view type, JsonArray& conditions) {
  const api::Condition* standing = api::find_condition(pod.conditions, type);
  if (standing && standing->observed_generation < pod.meta.generation)
    conditions.push_back(Json::object({{"type", type}, {"observedGeneration", pod.meta.generation}}));
}

void add_unready(const api::Pod& pod, Time since, JsonArray& conditions) {
  std::string names;
  for (const api::Container& container : pod.containers) names += (names.empty() ? "" : " ") + container.name;
  for (const char* type : {"Ready", "ContainersReady"})
    conditions.push_back(condition(pod, type, false, "ContainersNotReady", since,
                                   "containers with unready status: [" + names + "]"));
}

// When the condition came to say so: now, unless it does already.
Time transition_time(const api::Pod& pod, std::string_view type, bool status, Time now) {
  const api::Condition* standing = api::find_condition(pod.conditions, type);
  return standing && standing->status == (status ? "True" : "False") ? standing->last_transition : now;
}

bool is_initialized(const api::Pod& pod) {
  const api::Condition* standing = api::find_condition(pod.conditions, kInitialized);
  return pod.init_containers.empty() || (standing && standing->status == "True");
}

Json init_status(const api::Pod& pod, const api::Container& container, const ContainersAre& are,
                 const Json& before) {
  const bool ready = container.restartable_init
                         ? are.state == ContainerState::Running
                         : are.state == ContainerState::Ended && are.last->exit_code == 0;
  return container_status(pod, container, are, ready, before);
}

JsonArray init_statuses(const api::Pod& pod, const InitChanges& changes, const ContainerRecord& record) {
  JsonArray all;
  for (std::size_t i = 0; i < pod.init_containers.size(); ++i) {
    const api::Container& container = pod.init_containers[i];
    const Json& before = record.of(container.name);
    const bool changes_now = i < changes.size() && changes[i];
    if (!changes_now && before.is_object())
      all.push_back(before);
    else
      all.push_back(init_status(pod, container, changes_now ? *changes[i] : ContainersAre{}, before));
  }
  return all;
}

// Of a pod that ends: what runs is killed, but sidecars end well after the other containers.
InitChanges ended_init(const api::Pod& pod, InitChanges changes, Time ended, const ContainerRecord& record) {
  changes.resize(pod.init_containers.size());
  const bool ends_well = is_initialized(pod);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    std::optional<ContainersAre>& change = changes[i];
    const Json& running = record.of(pod.init_containers[i].name).part("state").part("running");
    const bool starts = change && change->state == ContainerState::Running;
    if (!starts && (change || !running.is_object())) continue;
    const Time started = starts ? change->started : api::decode_time(running.string_at("startedAt"));
    const bool is_well = ends_well && pod.init_containers[i].restartable_init;
    change = {ContainerState::Ended, started, ContainerRun{started, ended, is_well ? 0 : kKilledExitCode}};
  }
  return changes;
}

// The condition Initialized of a pod whose init containers have not all succeeded.
Json uninitialized(const api::Pod& pod, const JsonArray& init, Time now) {
  std::string names;
  for (std::size_t i = 0; i < init.size(); ++i) {
    const bool is_complete =
        pod.init_containers[i].restartable_init ? init[i].bool_at("started") : has_succeeded(init[i]);
    if (!is_complete) names += (names.empty() ? "" : " ") + pod.init_containers[i].name;
  }
  return condition(pod, kInitialized, false, "ContainersNotInitialized",
                   transition_time(pod, kInitialized, false, now),
                   "containers with incomplete status: [" + names + "]");
}

// A container that was killed because the pod has ended.
void end_ephemeral(Json& status, Time ended) {
  const Json& running = status.part("state").part("running");
  if (!running.is_object()) return;
  const Time started = api::decode_time(running.string_at("startedAt"));
  status["state"] =
      terminated({started, ended, kKilledExitCode}, std::string(status.string_at("containerID")));
}

Json waiting_for_image(const std::string& image) {
  return waiting("ImagePullBackOff", "Back-off pulling image \"" + image + "\"");
}

void set_host_ip(Json& status, const api::Pod& pod) {
  const std::string ip = simulated_host_ip(pod.node_name);
  status["hostIP"] = ip;
  status["hostIPs"] = Json::array({Json::object({{"ip", ip}})});
}

void set_pod_ip(Json& status, const api::Pod& pod) {
  const std::string ip = simulated_pod_ip(pod.meta.uid);
  status["podIP"] = ip;
  status["podIPs"] = Json::array({Json::object({{"ip", ip}})});
}

void set_containers(Json& status, const api::Pod& pod, const InitChanges& init, const ContainersAre& are,
                    const ContainerRecord& record) {
  if (!pod.init_containers.empty()) status["initContainerStatuses"] = init_statuses(pod, init, record);
  JsonArray all;
  for (const api::Container& container : pod.containers)
    all.push_back(container_status(pod, container, are, are.state == ContainerState::Running && are.is_ready,
                                   record.of(container.name)));
  status["containerStatuses"] = std::move(all);
}

// The node's device plugin gives each GPU group a device of its own.
void give_gpu(const api::Pod& reservation, Json& status) {
  const std::string device = "GPU-" + hex_of(stable_hash(reservation.meta.name));
  const Json health = Json::object({{"resourceID", device}, {"health", "Healthy"}});
  for (Json& container : status["containerStatuses"].as_array())
    container["allocatedResourcesStatus"] =
        Json::array({Json::object({{"name", api::kGpuResource}, {"resources", Json::array({health})}})});
}

// Why a pod is not ready whose containers are. Few pods have gates, so the text is searched before it is
// parsed.
std::string unready_gates(const api::Pod& pod) {
  if (pod.raw->find("\"readinessGates\":") == std::string::npos) return "";
  const Result<Json> document = api::parse_object(*pod.raw, api::ManagedFields::Skip);
  if (!document) return "";
  std::string text;
  for (const Json& gate : document->part("spec").items_at("readinessGates")) {
    const std::string type(gate.string_at("conditionType")), quoted = to_string(Json(type));
    const api::Condition* found = api::find_condition(pod.conditions, type);
    if (found && found->status == "True") continue;
    text += text.empty() ? "" : ", ";
    text += found ? "the status of pod readiness gate " + quoted + " is not \"True\", but " + found->status
                  : "corresponding condition of pod readiness gate " + quoted + " does not exist.";
  }
  return text;
}

Json ready_condition(const api::Pod& pod, Time now) {
  const std::string unready = unready_gates(pod);
  return condition(pod, "Ready", unready.empty(), unready.empty() ? "" : "ReadinessGatesNotReady", now,
                   unready);
}

void add_ready(const api::Pod& pod, Time since, JsonArray& conditions) {
  conditions.push_back(ready_condition(pod, since));
  conditions.push_back(condition(pod, "ContainersReady", true, "", since));
}

Json ended_status(const api::Pod& pod, const InitChanges& init, const ContainerRun& last) {
  const bool failed = last.exit_code != 0, initialized = is_initialized(pod);
  const char* reason = failed ? "PodFailed" : "PodCompleted";
  const ContainerRecord record(pod);
  Json status = Json::object({{"phase", failed ? "Failed" : "Succeeded"}});
  const ContainersAre ended{ContainerState::Ended, last.started, last};
  set_containers(status, pod, ended_init(pod, init, last.ended, record),
                 initialized ? ended : ContainersAre{}, record);
  JsonArray conditions = {condition(pod, kSandboxIsReady, false, "", last.ended)};
  conditions.push_back(initialized
                           ? condition(pod, kInitialized, true, failed ? "" : reason, last.started)
                           : uninitialized(pod, status.items_at("initContainerStatuses"), last.ended));
  for (const char* type : {"Ready", "ContainersReady"})
    conditions.push_back(condition(pod, type, false, reason, last.ended));
  status["conditions"] = std::move(conditions);
  if (JsonArray ephemeral = record.ephemeral(); !ephemeral.empty()) {
    for (Json& one : ephemeral) end_ephemeral(one, last.ended);
    status["ephemeralContainerStatuses"] = std::move(ephemeral);
  }
  return status;
}

Json running_status(const api::Pod& pod, const InitChanges& init, ContainersAre running, Time now) {
  JsonArray conditions;
  add_observation(pod, kScheduled, conditions);
  for (const std::string_view type : {kSandboxIsReady, kInitialized})
    conditions.push_back(condition(pod, type, true, "", transition_time(pod, type, true, now)));
  running.is_ready = readiness_delay(pod) == Duration();
  if (running.is_ready)
    add_ready(pod, now, conditions);
  else
    add_unready(pod, now, conditions);
  Json status = Json::object({{"phase", "Running"}, {"conditions", std::move(conditions)}});
  set_host_ip(status, pod);
  set_pod_ip(status, pod);
  if (!is_created(pod)) status["startTime"] = format_time(now);
  set_containers(status, pod, init, running, ContainerRecord(pod));
  if (api::is_gpu_reservation(pod)) give_gpu(pod, status);
  return status;
}

}  // namespace

Duration restart_delay(std::int64_t restarts, Duration ran) {
  if (restarts <= 0 || ran >= kRestartDelayMax * 2) return {};
  Duration delay = kRestartDelay;
  for (std::int64_t i = 1; i < restarts && delay < kRestartDelayMax; ++i) delay = delay * 2;
  return std::min(delay, kRestartDelayMax);
}

ContainerRecord::ContainerRecord(const api::Pod& pod) {
  if (!is_created(pod)) return;
  const Result<Json> document = api::parse_object(*pod.raw, api::ManagedFields::Skip);
  if (document) status_ = document->part("status");
}

const Json& ContainerRecord::of(std::string_view container) const {
  static const Json kNone;
  for (const std::string_view member : {"containerStatuses", "initContainerStatuses"})
    for (const Json& status : status_.items_at(member))
      if (status.string_at("name") == container) return status;
  return kNone;
}

const JsonArray& ContainerRecord::containers() const {
  return status_.items_at("containerStatuses");
}

const JsonArray& ContainerRecord::ephemeral() const {
  return status_.items_at("ephemeralContainerStatuses");
}

std::int64_t ContainerRecord::restarts() const {
  std::int64_t most = 0;
  for (const Json& status : containers()) most = std::max(most, status.int_at("restartCount"));
  return most;
}

bool ContainerRecord::backs_off() const {
  for (const Json& status : containers())
    if (status.part("state").part("waiting").string_at("reason") == kBackOffReason) return true;
  return false;
}

bool lacks_image(const api::Pod& pod) {
  const auto is_missing = [](const api::Container& container) { return is_missing_image(container.image); };
  return std::any_of(pod.init_containers.begin(), pod.init_containers.end(), is_missing) ||
         std::any_of(pod.containers.begin(), pod.containers.end(), is_missing);
}

Duration readiness_delay(const api::Pod& pod) {
  if (pod.raw->find("\"readinessProbe\":") == std::string::npos) return {};
  const Result<Json> document = api::parse_object(*pod.raw, api::ManagedFields::Skip);
  if (!document) return {};
  std::int64_t seconds = 0;
  for (const Json& container : document->part("spec").items_at("containers"))
    seconds = std::max(seconds, container.part("readinessProbe").int_at("initialDelaySeconds"));
  return Duration::seconds(seconds);
}

bool has_succeeded(const Json& status) {
  const Json& ended = status.part("state").part("terminated");
  return ended.is_object() && ended.int_at("exitCode") == 0;
}

bool is_created(const api::Pod& pod) {
  return api::find_condition(pod.conditions, "ContainersReady") != nullptr;
}

Json created_status(const api::Pod& pod, Time now) {
  Json status = Json::object({{"phase", "Pending"}});
  set_containers(status, pod, {}, {}, ContainerRecord(pod));
  JsonArray conditions = {condition(pod, kSandboxIsReady, false, "", now)};
  conditions.push_back(pod.init_containers.empty()
                           ? condition(pod, kInitialized, true, "", now)
                           : uninitialized(pod, status.items_at("initContainerStatuses"), now));
  add_observation(pod, kScheduled, conditions);
  add_unready(pod, now, conditions);
  status["conditions"] = std::move(conditions);
  set_host_ip(status, pod);
  status["startTime"] = format_time(now);
  return status;
}

Json pull_back_off_status(const api::Pod& pod, Time now) {
  Json status = created_status(pod, now);
  const auto mark = [&](std::string_view member, const std::vector<api::Container>& containers) {
    for (std::size_t i = 0; i < containers.size(); ++i)
      if (const std::string& image = containers[i].image; is_missing_image(image))
        status[member].as_array()[i]["state"] = waiting_for_image(image);
  };
  mark("initContainerStatuses", pod.init_containers);
  mark("containerStatuses", pod.containers);
  return status;
}

Json initializing_status(const api::Pod& pod, const InitChanges& init, Time now) {
  Json status = Json::object({{"phase", "Pending"}});
  set_containers(status, pod, init, {}, ContainerRecord(pod));
  JsonArray conditions = {
      condition(pod, kSandboxIsReady, true, "", transition_time(pod, kSandboxIsReady, true, now)),
      uninitialized(pod, status.items_at("initContainerStatuses"), now)};
  add_observation(pod, kScheduled, conditions);
  add_unready(pod, transition_time(pod, "ContainersReady", false, now), conditions);
  status["conditions"] = std::move(conditions);
  set_host_ip(status, pod);
  set_pod_ip(status, pod);
  if (!is_created(pod)) status["startTime"] = format_time(now);
  return status;
}

Json failed_init_status(const api::Pod& pod, const InitChanges& init, Time now) {
  Json status = ended_status(pod, init, {now, now, kKilledExitCode});
  set_host_ip(status, pod);
  set_pod_ip(status, pod);
  if (!is_created(pod)) status["startTime"] = format_time(now);
  return status;
}

Json running_status(const api::Pod& pod, const InitChanges& init, Time now) {
  return running_status(pod, init, {ContainerState::Running, now}, now);
}

Json ready_status(const api::Pod& pod, Time at) {
  JsonArray conditions;
  add_ready(pod, at, conditions);
  JsonArray containers = ContainerRecord(pod).containers();
  for (Json& status : containers) status["ready"] = true;
  return Json::object({{"conditions", std::move(conditions)}, {"containerStatuses", std::move(containers)}});
}

Json restarted_status(const api::Pod& pod, const std::optional<ContainerRun>& last, Time now) {
  return running_status(pod, {}, {ContainerState::Running, now, last, true}, now);
}

Json crashed_status(const api::Pod& pod, const ContainerRun& last, Duration delay) {
  JsonArray conditions;
  add_unready(pod, last.ended, conditions);
  Json status = Json::object({{"phase", "Running"}, {"conditions", std::move(conditions)}});
  set_containers(status, pod, {}, {ContainerState::BackingOff, last.started, last, false, delay},
                 ContainerRecord(pod));
  return status;
}

Json ended_status(const api::Pod& pod, const ContainerRun& last) {
  return ended_status(pod, {}, last);
}

Json overdue_status(const api::Pod& pod, const ContainerRun& last) {
  Json status = ended_status(pod, last);
  status["reason"] = "DeadlineExceeded";
  status["message"] = "Pod was active on the node longer than the specified deadline";
  return status;
}

std::optional<Json> changed_ready_condition(const api::Pod& pod, Time now) {
  Json wanted = ready_condition(pod, now);
  const api::Condition* standing = api::find_condition(pod.conditions, "Ready");
  if (standing && standing->status == wanted.string_at("status") &&
      standing->reason == wanted.string_at("reason") && standing->message == wanted.string_at("message"))
    return std::nullopt;
  return wanted;
}

JsonArray observed_conditions(const api::Pod& pod) {
  JsonArray conditions;
  for (const std::string_view type :
       {kScheduled, std::string_view("PodReadyToStartContainers"), std::string_view("Initialized"),
        std::string_view("Ready"), std::string_view("ContainersReady")})
    add_observation(pod, type, conditions);
  return conditions;
}

std::vector<api::Container> added_ephemeral_containers(const api::Pod& pod) {
  std::vector<api::Container> added;
  if (pod.raw->find("\"ephemeralContainers\":") == std::string::npos) return added;
  const Result<Json> document = api::parse_object(*pod.raw, api::ManagedFields::Skip);
  if (!document) return added;
  const ContainerRecord record(pod);
  const auto has_status = [&](std::string_view name) {
    return std::any_of(record.ephemeral().begin(), record.ephemeral().end(),
                       [&](const Json& status) { return status.string_at("name") == name; });
  };
  for (const Json& item : document->part("spec").items_at("ephemeralContainers")) {
    if (has_status(item.string_at("name"))) continue;
    api::Container& container = added.emplace_back();
    container.name = item.string_at("name");
    container.image = item.string_at("image");
  }
  return added;
}

JsonArray ephemeral_statuses(const api::Pod& pod, const std::vector<api::Container>& added, Time now) {
  JsonArray all = ContainerRecord(pod).ephemeral();
  for (const api::Container& container : added) {
    const bool has_image = !is_missing_image(container.image);
    const ContainersAre are{has_image ? ContainerState::Running : ContainerState::Creating, now};
    Json& status = all.emplace_back(container_status(pod, container, are, false, Json()));
    if (!has_image) status["state"] = waiting_for_image(container.image);
    status.as_object().erase("started");  // a kubelet reports it of other containers only
  }
  return all;
}

std::string pod_text(const api::Pod& pod) {
  return pod.meta.name + "_" + pod.meta.ns + "(" + pod.meta.uid + ")";
}

}  // namespace berth::controllers
