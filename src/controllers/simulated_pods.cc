#include <algorithm>

#include "api/serialized.h"
#include "api/types/gpu_share.h"
#include "base/hex.h"
#include "base/stable_hash.h"
#include "controllers/controllers.h"
#include "controllers/patches.h"
#include "controllers/simulated.h"
#include "controllers/simulated_containers.h"

namespace berth::controllers {

namespace {

std::string digest_of(std::string_view seed) {
  std::string digest;
  for (char part = 'a'; part < 'e'; ++part) digest += hex_of(stable_hash(std::string(seed) + part));
  return digest;
}

enum class ContainerState { Creating, Running, Completed, Failed };

// Of a container that is killed: 128 and the number of SIGKILL.
constexpr std::int64_t kKilledExitCode = 137;

// What all containers of a pod do at one time.
struct ContainersAre {
  ContainerState state = ContainerState::Creating;
  Time started, ended;
  std::int64_t exit_code = 0;
};

Json state_json(const ContainersAre& are, const std::string& container_id) {
  if (are.state == ContainerState::Creating)
    return Json::object({{"waiting", Json::object({{"reason", "ContainerCreating"}})}});
  if (are.state == ContainerState::Running)
    return Json::object({{"running", Json::object({{"startedAt", format_time(are.started)}})}});
  const bool failed = are.state == ContainerState::Failed;
  return Json::object({{"terminated", Json::object({{"exitCode", failed ? are.exit_code : 0},
                                                    {"reason", failed ? "Error" : "Completed"},
                                                    {"startedAt", format_time(are.started)},
                                                    {"finishedAt", format_time(are.ended)},
                                                    {"containerID", container_id}})}});
}

Json container_status(const api::Pod& pod, const api::Container& container, const ContainersAre& are,
                      bool ready) {
  const std::string id = "containerd://" + digest_of(pod.meta.uid + "/" + container.name);
  Json json = Json::object({{"name", container.name},
                            {"state", state_json(are, id)},
                            {"lastState", Json::object()},
                            {"ready", ready},
                            {"restartCount", 0},
                            {"image", container.image},
                            {"imageID", container.image + "@sha256:" + digest_of(container.image)},
                            {"containerID", id},
                            {"started", are.state == ContainerState::Running}});
  if (are.state != ContainerState::Creating) return json;
  json["imageID"] = "";
  json.as_object().erase("containerID");
  return json;
}

Json condition(std::string_view type, bool status, std::string_view reason, Time since) {
  Json json = Json::object({{"type", type}, {"status", status ? "True" : "False"}});
  if (!reason.empty()) json["reason"] = reason;
  json["lastTransitionTime"] = format_time(since);
  return json;
}

JsonArray statuses(const api::Pod& pod, const ContainersAre& are) {
  JsonArray all;
  for (const api::Container& container : pod.containers)
    all.push_back(container_status(pod, container, are, are.state == ContainerState::Running));
  return all;
}

// Init containers have succeeded; sidecars run as long as the pod does.
JsonArray init_statuses(const api::Pod& pod, const ContainersAre& are) {
  JsonArray all;
  for (const api::Container& container : pod.init_containers) {
    const bool running = container.restartable_init && are.state == ContainerState::Running;
    ContainersAre init = are;
    init.state = running ? ContainerState::Running : ContainerState::Completed;
    all.push_back(container_status(pod, container, init, running || !container.restartable_init));
  }
  return all;
}

void set_host_ip(Json& status, const api::Pod& pod) {
  const std::string ip = simulated_host_ip(pod.node_name);
  status["hostIP"] = ip;
  status["hostIPs"] = Json::array({Json::object({{"ip", ip}})});
}

bool is_created(const api::Pod& pod) {
  return api::find_condition(pod.conditions, "ContainersReady") != nullptr;
}

// Of a pod whose containers may not start yet.
Json created_status(const api::Pod& pod, Time now) {
  std::string names;
  for (const api::Container& container : pod.containers) names += (names.empty() ? "" : " ") + container.name;
  JsonArray conditions = {condition("PodReadyToStartContainers", false, "", now),
                          pod.init_containers.empty()
                              ? condition("Initialized", true, "", now)
                              : condition("Initialized", false, "ContainersNotInitialized", now)};
  for (const char* type : {"Ready", "ContainersReady"}) {
    conditions.push_back(condition(type, false, "ContainersNotReady", now));
    conditions.back()["message"] = "containers with unready status: [" + names + "]";
  }
  Json status = Json::object({{"phase", "Pending"}, {"conditions", std::move(conditions)}});
  set_host_ip(status, pod);
  status["startTime"] = format_time(now);
  JsonArray init;
  for (const api::Container& container : pod.init_containers)
    init.push_back(container_status(pod, container, {ContainerState::Creating, now, now}, false));
  if (!init.empty()) status["initContainerStatuses"] = std::move(init);
  status["containerStatuses"] = statuses(pod, {ContainerState::Creating, now, now});
  return status;
}

bool lacks_image(const api::Pod& pod) {
  return std::any_of(pod.containers.begin(), pod.containers.end(),
                     [](const api::Container& container) { return is_missing_image(container.image); });
}

// Of a pod with an image that cannot be pulled.
Json back_off_status(const api::Pod& pod, Time now) {
  Json status = created_status(pod, now);
  JsonArray& containers = status["containerStatuses"].as_array();
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const std::string& image = pod.containers[i].image;
    if (!is_missing_image(image)) continue;
    containers[i]["state"] =
        Json::object({{"waiting", Json::object({{"reason", "ImagePullBackOff"},
                                                {"message", "Back-off pulling image \"" + image + "\""}})}});
  }
  return status;
}

// The status keeps the last known devices of its containers.
void keep_device_health(const api::Pod& pod, Json& status) {
  constexpr std::string_view kHealth = "allocatedResourcesStatus";
  const Result<Json> before = api::parse_object(*pod.raw);
  for (const char* field : {"initContainerStatuses", "containerStatuses"}) {
    const Json* old = before ? before->find_path({"status", field}) : nullptr;
    Json* now = status.find(field);
    if (!old || !old->is_array() || !now) continue;
    for (const Json& last : old->as_array())
      for (Json& container : now->as_array())
        if (const Json* health = last.find(kHealth);
            health && container.string_at("name") == last.string_at("name"))
          container[kHealth] = *health;
  }
}

// The node's device plugin gives each GPU group a device of its own.
void give_gpu(const api::Pod& reservation, Json& status) {
  const std::string device = "GPU-" + hex_of(stable_hash(reservation.meta.name));
  const Json health = Json::object({{"resourceID", device}, {"health", "Healthy"}});
  for (Json& container : status["containerStatuses"].as_array())
    container["allocatedResourcesStatus"] =
        Json::array({Json::object({{"name", api::kGpuResource}, {"resources", Json::array({health})}})});
}

Json running_status(const api::Pod& pod, Time now) {
  const std::string pod_ip = simulated_pod_ip(pod.meta.uid);
  JsonArray conditions;
  for (const char* type : {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"})
    conditions.push_back(condition(type, true, "", now));
  Json status = Json::object({{"phase", "Running"}, {"conditions", std::move(conditions)}});
  set_host_ip(status, pod);
  status["podIP"] = pod_ip;
  status["podIPs"] = Json::array({Json::object({{"ip", pod_ip}})});
  const bool was_created = is_created(pod);
  if (!was_created) status["startTime"] = format_time(now);
  const ContainersAre running{ContainerState::Running, now, now};
  if (!pod.init_containers.empty()) status["initContainerStatuses"] = init_statuses(pod, running);
  status["containerStatuses"] = statuses(pod, running);
  if (was_created) keep_device_health(pod, status);
  if (api::is_gpu_reservation(pod)) give_gpu(pod, status);
  return status;
}

// Of a pod whose containers have ended with this code; no container restarts here.
Json ended_status(const api::Pod& pod, std::int64_t exit_code, Time started, Time now) {
  const bool failed = exit_code != 0;
  const char* reason = failed ? "PodFailed" : "PodCompleted";
  JsonArray conditions = {condition("PodReadyToStartContainers", false, "", now),
                          condition("Initialized", true, failed ? "" : reason, started),
                          condition("Ready", false, reason, now),
                          condition("ContainersReady", false, reason, now)};
  Json status =
      Json::object({{"phase", failed ? "Failed" : "Succeeded"}, {"conditions", std::move(conditions)}});
  const ContainersAre ended{failed ? ContainerState::Failed : ContainerState::Completed, started, now,
                            exit_code};
  if (!pod.init_containers.empty()) status["initContainerStatuses"] = init_statuses(pod, ended);
  status["containerStatuses"] = statuses(pod, ended);
  keep_device_health(pod, status);
  return status;
}

// When spec.activeDeadlineSeconds ends; few pods have it, so their text is searched before it is parsed.
std::optional<Time> deadline_of(const api::Pod& pod) {
  if (pod.raw->find("\"activeDeadlineSeconds\":") == std::string::npos) return std::nullopt;
  const Result<Json> document = api::parse_object(*pod.raw);
  const Json* seconds = document ? document->part("spec").find("activeDeadlineSeconds") : nullptr;
  if (!seconds || !seconds->is_int()) return std::nullopt;
  const Time started = api::decode_time(document->part("status").string_at("startTime"));
  if (!started.is_set()) return std::nullopt;
  return started + Duration::seconds(seconds->as_int());
}

Json overdue_status(const api::Pod& pod, Time started, Time now) {
  Json status = ended_status(pod, kKilledExitCode, started, now);
  status["reason"] = "DeadlineExceeded";
  status["message"] = "Pod was active on the node longer than the specified deadline";
  return status;
}

// Whether the status was written for an earlier spec. The first one is seen when the pod starts.
bool is_for_earlier_spec(const api::Pod& pod) {
  if (pod.meta.generation <= 1) return false;
  const std::string seen = "\"status\":{\"observedGeneration\":" + std::to_string(pod.meta.generation) + ",";
  return pod.raw->find(seen) == std::string::npos;
}

// Has the version as precondition: a late status must not restart an ended pod.
client::Write change_status(const api::ObjectKey& key, const api::Pod& pod, Json status) {
  if (pod.meta.generation > 0) status["observedGeneration"] = pod.meta.generation;
  return patch_status(key, std::move(status), pod.meta.uid, pod.meta.resource_version);
}

class SimulatedPods final : public client::Reconciler {
 public:
  explicit SimulatedPods(ContainersMayStart may_start) : may_start_(std::move(may_start)) {}

  std::string_view name() const override { return kSimulatedPodsName; }

  std::vector<client::Interest> interests() const override {
    const auto pod_keys = [](const View&, const Delta& delta, Keys& keys) {
      if (delta.after && std::get<std::shared_ptr<const api::Pod>>(*delta.after)->bound())
        keys.push_back(delta.key);
    };
    const auto node_keys = [](const View& view, const Delta& delta, Keys& keys) {
      const auto* before = client::object_of<api::Node>(delta.before);
      const auto* after = client::object_of<api::Node>(delta.after);
      if (before && (!after || runs_pods(*before) || !runs_pods(*after))) return;
      for (const api::Pod* pod : view.pods_on_node(delta.key.name))
        keys.push_back(client::key_of(Kind::Pod, pod->meta));
    };
    const auto claim_keys = [](const View& view, const Delta& delta, Keys& keys) {
      for (const api::Pod* pod : view.pods_using_claim(delta.key.ns, delta.key.name))
        if (waits_to_start(*pod)) keys.push_back(client::key_of(Kind::Pod, pod->meta));
    };
    std::vector<client::Interest> interests = {{Kind::Pod, {}, pod_keys}, {Kind::Node, {}, node_keys}};
    if (may_start_) interests.push_back({Kind::ResourceClaim, {}, claim_keys});
    return interests;
  }

  void signalled(const View& view, const api::ObjectKey& about, Keys& keys) const override {
    for (const api::Pod* pod : view.pods_on_node(about.name))
      if (waits_to_start(*pod)) keys.push_back(client::key_of(Kind::Pod, pod->meta));
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    const api::Pod* pod = view.pods.find(key.ns, key.name);
    if (!pod || !pod->bound()) return Effects::nothing();
    const api::Node* node = view.nodes.find("", pod->node_name);
    if (!node || !runs_pods(*node)) return Effects::nothing();
    if (pod->meta.deleting()) return end(key, *pod, now);
    if (pod->finished()) return Effects::nothing();

    const api::Condition* ready = api::find_condition(pod->conditions, "Ready");
    if (pod->phase != "Running" || !ready || ready->status != "True") return start(view, key, *pod, now);

    const Time started = ready->last_transition;
    const auto deadline = deadline_of(*pod);
    if (deadline && now >= *deadline)
      return Effects::write(key, change_status(key, *pod, overdue_status(*pod, started, now)));
    if (is_for_earlier_spec(*pod)) return Effects::write(key, change_status(key, *pod, Json::object()));
    const auto containers = end_of_containers(*pod);
    if (!containers && !deadline) return Effects::nothing();
    const Time end = containers ? started + containers->after : *deadline;
    if (containers && now >= end)
      return Effects::write(
          key, change_status(key, *pod, ended_status(*pod, containers->exit_code, started, now)));
    Effects effects;
    effects.wake_at = deadline ? std::min(end, *deadline) : end;
    return effects;
  }

 private:
  static bool waits_to_start(const api::Pod& pod) {
    return pod.bound() && !pod.finished() && pod.phase != "Running";
  }

  Effects start(const View& view, const api::ObjectKey& key, const api::Pod& pod, Time now) const {
    const bool has_images = !lacks_image(pod);
    if (has_images && (!may_start_ || may_start_(view, pod)))
      return Effects::write(key, change_status(key, pod, running_status(pod, now)));
    if (is_created(pod)) return Effects::nothing();
    if (!has_images) return Effects::write(key, change_status(key, pod, back_off_status(pod, now)));
    return Effects::write(key, change_status(key, pod, created_status(pod, now)));
  }

  // Of a deleted pod. Who holds it by a finalizer waits for its phase; where nobody does, it goes at once.
  static Effects end(const api::ObjectKey& key, const api::Pod& pod, Time now) {
    Effects effects;
    effects.chains.push_back({key, {}});
    if (!pod.finished() && !pod.meta.finalizers.empty()) {
      const Time ready = ready_since(pod);
      const Time started = ready.is_set() ? ready : now;
      effects.then(change_status(key, pod, ended_status(pod, kKilledExitCode, started, now)));
    }
    if (pod.meta.deletion_grace_s.value_or(0) > 0) effects.then(client::delete_object(key, pod.meta.uid, 0));
    return effects.chains.front().writes.empty() ? Effects::nothing() : effects;
  }

  static Time ready_since(const api::Pod& pod) {
    const api::Condition* ready = api::find_condition(pod.conditions, "Ready");
    return ready && ready->status == "True" ? ready->last_transition : Time();
  }

  const ContainersMayStart may_start_;
};

}  // namespace

std::unique_ptr<client::Reconciler> make_simulated_pods(ContainersMayStart may_start) {
  return std::make_unique<SimulatedPods>(std::move(may_start));
}

}  // namespace berth::controllers
