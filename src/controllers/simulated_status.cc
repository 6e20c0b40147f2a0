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

constexpr std::string_view kScheduled = "PodScheduled";
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

enum class ContainerState { Creating, Running, BackingOff, Ended };

// What all containers of a pod do at one time.
struct ContainersAre {
  ContainerState state = ContainerState::Creating;
  Time started;                           // of Running
  std::optional<ContainerRun> last = {};  // the run that has just ended
  bool is_restart = false;
  Duration delay = {};   // of BackingOff
  bool is_ready = true;  // of Running
};

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
      return waiting("ContainerCreating");
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

// Once the pod runs, init containers have succeeded; sidecars run as long as it does.
JsonArray init_statuses(const api::Pod& pod, const ContainersAre& are, const ContainerRecord& record) {
  JsonArray all;
  const ContainerRun done{are.started, are.last ? are.last->ended : are.started, 0};
  for (const api::Container& container : pod.init_containers) {
    const Json& before = record.of(container.name);
    const bool running = container.restartable_init && are.state != ContainerState::Ended;
    // What a restart of the containers does not touch.
    const bool is_kept = are.is_restart || are.state == ContainerState::BackingOff;
    if (is_kept && before.is_object())
      all.push_back(before);
    else if (are.state == ContainerState::Creating)
      all.push_back(container_status(pod, container, are, false, before));
    else if (running)
      all.push_back(container_status(pod, container, {ContainerState::Running, are.started}, true, before));
    else
      all.push_back(container_status(pod, container, {ContainerState::Ended, are.started, done},
                                     !container.restartable_init, before));
  }
  return all;
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

void set_containers(Json& status, const api::Pod& pod, const ContainersAre& are,
                    const ContainerRecord& record) {
  if (!pod.init_containers.empty()) status["initContainerStatuses"] = init_statuses(pod, are, record);
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

Json running_status(const api::Pod& pod, ContainersAre running, Time now) {
  const std::string pod_ip = simulated_pod_ip(pod.meta.uid);
  JsonArray conditions;
  add_observation(pod, kScheduled, conditions);
  for (const char* type : {"PodReadyToStartContainers", "Initialized"})
    conditions.push_back(condition(pod, type, true, "", now));
  running.is_ready = readiness_delay(pod) == Duration();
  if (running.is_ready)
    add_ready(pod, now, conditions);
  else
    add_unready(pod, now, conditions);
  Json status = Json::object({{"phase", "Running"}, {"conditions", std::move(conditions)}});
  set_host_ip(status, pod);
  status["podIP"] = pod_ip;
  status["podIPs"] = Json::array({Json::object({{"ip", pod_ip}})});
  if (!is_created(pod)) status["startTime"] = format_time(now);
  set_containers(status, pod, running, ContainerRecord(pod));
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

bool is_created(const api::Pod& pod) {
  return api::find_condition(pod.conditions, "ContainersReady") != nullptr;
}

Json created_status(const api::Pod& pod, Time now) {
  const bool has_init = !pod.init_containers.empty();
  JsonArray conditions = {
      condition(pod, "PodReadyToStartContainers", false, "", now),
      condition(pod, "Initialized", !has_init, has_init ? "ContainersNotInitialized" : "", now)};
  add_observation(pod, kScheduled, conditions);
  add_unready(pod, now, conditions);
  Json status = Json::object({{"phase", "Pending"}, {"conditions", std::move(conditions)}});
  set_host_ip(status, pod);
  status["startTime"] = format_time(now);
  set_containers(status, pod, {ContainerState::Creating, now}, ContainerRecord(pod));
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

Json running_status(const api::Pod& pod, Time now) {
  return running_status(pod, {ContainerState::Running, now}, now);
}

Json ready_status(const api::Pod& pod, Time at) {
  JsonArray conditions;
  add_ready(pod, at, conditions);
  JsonArray containers = ContainerRecord(pod).containers();
  for (Json& status : containers) status["ready"] = true;
  return Json::object({{"conditions", std::move(conditions)}, {"containerStatuses", std::move(containers)}});
}

Json restarted_status(const api::Pod& pod, const std::optional<ContainerRun>& last, Time now) {
  return running_status(pod, {ContainerState::Running, now, last, true}, now);
}

Json crashed_status(const api::Pod& pod, const ContainerRun& last, Duration delay) {
  JsonArray conditions;
  add_unready(pod, last.ended, conditions);
  Json status = Json::object({{"phase", "Running"}, {"conditions", std::move(conditions)}});
  set_containers(status, pod, {ContainerState::BackingOff, last.started, last, false, delay},
                 ContainerRecord(pod));
  return status;
}

Json ended_status(const api::Pod& pod, const ContainerRun& last) {
  const bool failed = last.exit_code != 0;
  const char* reason = failed ? "PodFailed" : "PodCompleted";
  JsonArray conditions = {condition(pod, "PodReadyToStartContainers", false, "", last.ended),
                          condition(pod, "Initialized", true, failed ? "" : reason, last.started),
                          condition(pod, "Ready", false, reason, last.ended),
                          condition(pod, "ContainersReady", false, reason, last.ended)};
  Json status =
      Json::object({{"phase", failed ? "Failed" : "Succeeded"}, {"conditions", std::move(conditions)}});
  const ContainerRecord record(pod);
  set_containers(status, pod, {ContainerState::Ended, last.started, last}, record);
  if (JsonArray ephemeral = record.ephemeral(); !ephemeral.empty()) {
    for (Json& one : ephemeral) end_ephemeral(one, last.ended);
    status["ephemeralContainerStatuses"] = std::move(ephemeral);
  }
  return status;
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
