#include "api/serialized.h"
#include "base/hex.h"
#include "base/stable_hash.h"
#include "controllers/controllers.h"
#include "controllers/patches.h"
#include "controllers/simulated.h"

namespace berth::controllers {

namespace {

std::string digest_of(std::string_view seed) {
  std::string digest;
  for (char part = 'a'; part < 'e'; ++part) digest += hex_of(stable_hash(std::string(seed) + part));
  return digest;
}

enum class ContainerState { Running, Completed };

Json state_json(ContainerState state, const std::string& container_id, Time started, Time ended) {
  if (state == ContainerState::Running)
    return Json::object({{"running", Json::object({{"startedAt", format_time(started)}})}});
  return Json::object({{"terminated", Json::object({{"exitCode", 0},
                                                    {"reason", "Completed"},
                                                    {"startedAt", format_time(started)},
                                                    {"finishedAt", format_time(ended)},
                                                    {"containerID", container_id}})}});
}

Json container_status(const api::Pod& pod, const api::Container& container, ContainerState state,
                      Time started, Time ended, bool ready) {
  const std::string id = "containerd://" + digest_of(pod.meta.uid + "/" + container.name);
  return Json::object({{"name", container.name},
                       {"state", state_json(state, id, started, ended)},
                       {"lastState", Json::object()},
                       {"ready", ready},
                       {"restartCount", 0},
                       {"image", container.image},
                       {"imageID", container.image + "@sha256:" + digest_of(container.image)},
                       {"containerID", id},
                       {"started", state == ContainerState::Running}});
}

Json condition(std::string_view type, bool status, std::string_view reason, Time since) {
  Json json = Json::object({{"type", type}, {"status", status ? "True" : "False"}});
  if (!reason.empty()) json["reason"] = reason;
  json["lastTransitionTime"] = format_time(since);
  return json;
}

JsonArray statuses(const api::Pod& pod, ContainerState state, Time started, Time ended) {
  JsonArray all;
  for (const api::Container& container : pod.containers)
    all.push_back(container_status(pod, container, state, started, ended, state == ContainerState::Running));
  return all;
}

// Init containers have succeeded; sidecars run as long as the pod does.
JsonArray init_statuses(const api::Pod& pod, ContainerState state, Time started, Time ended) {
  JsonArray all;
  for (const api::Container& container : pod.init_containers) {
    const bool running = container.restartable_init && state == ContainerState::Running;
    all.push_back(container_status(pod, container,
                                   running ? ContainerState::Running : ContainerState::Completed, started,
                                   running ? started : ended, running || !container.restartable_init));
  }
  return all;
}

Json running_status(const api::Pod& pod, Time now) {
  const std::string host_ip = simulated_host_ip(pod.node_name), pod_ip = simulated_pod_ip(pod.meta.uid);
  JsonArray conditions;
  for (const char* type : {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"})
    conditions.push_back(condition(type, true, "", now));
  Json status = Json::object({{"phase", "Running"},
                              {"conditions", std::move(conditions)},
                              {"hostIP", host_ip},
                              {"hostIPs", Json::array({Json::object({{"ip", host_ip}})})},
                              {"podIP", pod_ip},
                              {"podIPs", Json::array({Json::object({{"ip", pod_ip}})})},
                              {"startTime", format_time(now)}});
  if (!pod.init_containers.empty())
    status["initContainerStatuses"] = init_statuses(pod, ContainerState::Running, now, now);
  status["containerStatuses"] = statuses(pod, ContainerState::Running, now, now);
  return status;
}

// The status keeps the last known devices of an ended container.
void keep_device_health(const api::Pod& pod, Json& status) {
  constexpr std::string_view kHealth = "allocatedResourcesStatus";
  const Result<Json> before = api::parse_object(*pod.raw);
  for (const char* field : {"initContainerStatuses", "containerStatuses"}) {
    const Json* old = before ? before->find_path({"status", field}) : nullptr;
    Json* now = status.find(field);
    if (!old || !old->is_array() || !now) continue;
    for (const Json& ended : old->as_array())
      for (Json& container : now->as_array())
        if (const Json* health = ended.find(kHealth);
            health && container.string_at("name") == ended.string_at("name"))
          container[kHealth] = *health;
  }
}

Json succeeded_status(const api::Pod& pod, Time started, Time now) {
  JsonArray conditions = {condition("PodReadyToStartContainers", false, "", now),
                          condition("Initialized", true, "PodCompleted", started),
                          condition("Ready", false, "PodCompleted", now),
                          condition("ContainersReady", false, "PodCompleted", now)};
  Json status = Json::object({{"phase", "Succeeded"}, {"conditions", std::move(conditions)}});
  if (!pod.init_containers.empty())
    status["initContainerStatuses"] = init_statuses(pod, ContainerState::Completed, started, now);
  status["containerStatuses"] = statuses(pod, ContainerState::Completed, started, now);
  keep_device_health(pod, status);
  return status;
}

// Has the version as precondition: a late status must not restart an ended pod.
client::Write change_status(const api::ObjectKey& key, const api::Pod& pod, Json status) {
  return patch_status(key, std::move(status), pod.meta.uid, pod.meta.resource_version);
}

class SimulatedPods final : public client::Reconciler {
 public:
  std::string_view name() const override { return "simulated-pods"; }

  std::vector<client::Interest> interests() const override {
    return {{Kind::Pod,
             {},
             [](const View&, const Delta& delta, std::vector<api::ObjectKey>& keys) {
               if (delta.after && std::get<std::shared_ptr<const api::Pod>>(*delta.after)->bound())
                 keys.push_back(delta.key);
             }},
            {Kind::Node, {}, [](const View& view, const Delta& delta, std::vector<api::ObjectKey>& keys) {
               if (delta.before) return;
               for (const api::Pod* pod : view.pods_on_node(delta.key.name))
                 keys.push_back(client::key_of(Kind::Pod, pod->meta));
             }}};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    const api::Pod* pod = view.pods.find(key.ns, key.name);
    if (!pod || !pod->bound() || pod->meta.deleting() || pod->finished()) return Effects::nothing();
    const api::Node* node = view.nodes.find("", pod->node_name);
    if (!node || !is_simulated(*node)) return Effects::nothing();

    const api::Condition* ready = api::find_condition(pod->conditions, "Ready");
    if (pod->phase != "Running" || !ready || ready->status != "True")
      return Effects::write(key, change_status(key, *pod, running_status(*pod, now)));

    const auto run_time = annotated_duration(pod->meta, kRunTimeAnnotation);
    if (!run_time) return Effects::nothing();
    const Time started = ready->last_transition, end = started + *run_time;
    if (now >= end)
      return Effects::write(key, change_status(key, *pod, succeeded_status(*pod, started, now)));
    Effects effects;
    effects.wake_at = end;
    return effects;
  }
};

}  // namespace

std::unique_ptr<client::Reconciler> make_simulated_pods() {
  return std::make_unique<SimulatedPods>();
}

}  // namespace berth::controllers
