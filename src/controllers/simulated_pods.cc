#include <algorithm>

#include "api/serialized.h"
#include "api/simulated_usage.h"
#include "controllers/controllers.h"
#include "controllers/patches.h"
#include "controllers/simulated.h"
#include "controllers/simulated_containers.h"
#include "controllers/simulated_init.h"
#include "controllers/simulated_status.h"

namespace berth::controllers {

namespace {

constexpr bool kWarning = true;

constexpr std::string_view kContainers = "containers", kInitContainers = "initContainers";

// An event in the name of the node's agent.
void note(Effects& effects, const api::ObjectKey& key, const api::Pod& pod, std::string_view reason,
          std::string message, bool warning = false) {
  client::EventNote& event = effects.events.emplace_back();
  event.regarding = key;
  event.regarding_uid = pod.meta.uid;
  event.warning = warning;
  event.reason = reason;
  event.message = std::move(message);
  event.component = "kubelet";
}

// The same about a container in this list of the spec.
void note_of(Effects& effects, const api::ObjectKey& key, const api::Pod& pod, std::string_view list,
             const api::Container& container, std::string_view reason, std::string message,
             bool warning = false) {
  note(effects, key, pod, reason, std::move(message), warning);
  effects.events.back().field_path = "spec." + std::string(list) + "{" + std::string(container.name) + "}";
}

// What happens when a container of the list is to start: it starts, or its image cannot be pulled.
void note_start(Effects& effects, const api::ObjectKey& key, const api::Pod& pod, std::string_view list,
                const api::Container& container) {
  if (is_missing_image(container.image))
    return note_of(effects, key, pod, list, container, "BackOff",
                   "Back-off pulling image \"" + container.image + "\"");
  note_of(effects, key, pod, list, container, "Pulled",
          "Container image \"" + container.image +
              "\" already present on machine and can be accessed by the pod");
  note_of(effects, key, pod, list, container, "Created", "Container created");
  note_of(effects, key, pod, list, container, "Started", "Container started");
}

void note_back_off(Effects& effects, const api::ObjectKey& key, const api::Pod& pod, std::string_view list,
                   const api::Container& container) {
  note_of(effects, key, pod, list, container, "BackOff",
          "Back-off restarting failed container " + container.name + " in pod " + pod_text(pod), kWarning);
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

// A resource that the node has less of than the pod asks for, even alone.
struct Shortage {
  std::string_view resource;
  std::string message;
};

std::optional<Shortage> shortage_of(const api::Pod& pod, const api::Node& node) {
  const api::ResourceMap requests = api::effective_requests(pod);
  for (const std::string_view resource : {"cpu", "memory", "ephemeral-storage"}) {
    const auto asked = requests.find(resource), has = node.allocatable.find(resource);
    if (asked == requests.end() || has == node.allocatable.end() || asked->second <= has->second) continue;
    const auto count = [&](const Quantity& amount) {
      return std::to_string(resource == "cpu" ? amount.ceil_millis() : amount.ceil_units());
    };
    return Shortage{resource, "Node didn't have enough resource: " + std::string(resource) + ", requested: " +
                                  count(asked->second) + ", used: 0, capacity: " + count(has->second)};
  }
  return std::nullopt;
}

// What preStop hooks of the kind `sleep` add to the end of a pod. Few have them, so the text is searched
// first.
Duration hook_time(const api::Pod& pod) {
  if (pod.raw->find("\"preStop\":") == std::string::npos) return {};
  const Result<Json> document = api::parse_object(*pod.raw, api::ManagedFields::Skip);
  if (!document) return {};
  std::int64_t seconds = 0;
  for (const Json& container : document->part("spec").items_at("containers"))
    seconds = std::max(seconds, container.part("lifecycle").part("preStop").part("sleep").int_at("seconds"));
  return Duration::seconds(seconds);
}

class SimulatedPods final : public client::Reconciler {
 public:
  SimulatedPods(ContainersMayStart may_start, SimulatedDurations durations)
      : may_start_(std::move(may_start)), durations_(durations) {}

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

    const api::Condition* containers = api::find_condition(pod->conditions, "ContainersReady");
    if (!containers) {
      const auto shortage = shortage_of(*pod, *node);
      return shortage ? reject(key, *pod, *shortage) : start(view, key, *pod, now);
    }
    const bool is_ready = containers->status == "True";
    const Time since = is_ready ? running_since(*pod) : containers->last_transition;
    const auto deadline = deadline_of(*pod);
    if (deadline && now >= *deadline)
      return Effects::write(key,
                            change_status(key, *pod, overdue_status(*pod, {since, now, kKilledExitCode})));
    Effects effects = pod->phase != "Running" ? start(view, key, *pod, now)
                      : is_ready              ? run_on(key, *pod, since, now)
                                              : go_on_unready(view, key, *pod, since, now);
    if (deadline && effects.chains.empty())
      effects.wake_at = effects.wake_at ? std::min(*effects.wake_at, *deadline) : *deadline;
    return effects;
  }

 private:
  static bool waits_to_start(const api::Pod& pod) {
    return pod.bound() && !pod.finished() && pod.phase != "Running";
  }

  // Source: the kubelet's admission of pods that somebody bound without a scheduler's look at the node.
  static Effects reject(const api::ObjectKey& key, const api::Pod& pod, const Shortage& shortage) {
    const std::string reason = "OutOf" + std::string(shortage.resource);
    Effects effects = Effects::write(
        key, change_status(key, pod,
                           Json::object({{"phase", "Failed"},
                                         {"reason", reason},
                                         {"message", "Pod was rejected: " + shortage.message}})));
    note(effects, key, pod, reason, shortage.message, kWarning);
    return effects;
  }

  Effects start(const View& view, const api::ObjectKey& key, const api::Pod& pod, Time now) const {
    const bool has_images = !lacks_image(pod);
    if (has_images && (!may_start_ || may_start_(view, pod))) return initialize(key, pod, now);
    if (is_created(pod)) return Effects::nothing();
    if (has_images) return Effects::write(key, change_status(key, pod, created_status(pod, now)));
    Effects effects = Effects::write(key, change_status(key, pod, pull_back_off_status(pod, now)));
    for (const auto& [list, containers] :
         {std::pair(kInitContainers, &pod.init_containers), {kContainers, &pod.containers}})
      for (const api::Container& container : *containers)
        if (is_missing_image(container.image)) note_start(effects, key, pod, list, container);
    return effects;
  }

  // Takes the init containers to this time; after the last one the others start.
  static Effects initialize(const api::ObjectKey& key, const api::Pod& pod, Time now) {
    const InitStep step = init_step(pod, now);
    Effects effects;
    effects.wake_at = step.due;
    const auto is_set = [](const auto& change) { return change.has_value(); };
    if (!step.is_done && std::none_of(step.changes.begin(), step.changes.end(), is_set)) return effects;
    const auto status = step.is_done      ? &running_status
                        : step.has_failed ? &failed_init_status
                                          : &initializing_status;
    effects = Effects::write(key, change_status(key, pod, status(pod, step.changes, now)));
    for (const std::size_t i : step.started)
      note_start(effects, key, pod, kInitContainers, pod.init_containers[i]);
    if (step.backs_off)
      note_back_off(effects, key, pod, kInitContainers, pod.init_containers[*step.backs_off]);
    if (step.is_done)
      for (const api::Container& container : pod.containers)
        note_start(effects, key, pod, kContainers, container);
    return effects;
  }

  // Of a pod whose containers run since this time.
  Effects run_on(const api::ObjectKey& key, const api::Pod& pod, Time since, Time now) const {
    const std::optional<Json> ready = changed_ready_condition(pod, now);
    const std::vector<api::Container> added = added_ephemeral_containers(pod);
    if (ready || !added.empty() || is_for_earlier_spec(pod)) {
      Json status = Json::object();
      JsonArray conditions = observed_conditions(pod);
      if (ready) {
        std::erase_if(conditions, [](const Json& each) { return each.string_at("type") == "Ready"; });
        conditions.push_back(*ready);
      }
      if (!conditions.empty()) status["conditions"] = std::move(conditions);
      if (!added.empty()) status["ephemeralContainerStatuses"] = ephemeral_statuses(pod, added, now);
      Effects effects = Effects::write(key, change_status(key, pod, std::move(status)));
      for (const api::Container& container : added)
        note_start(effects, key, pod, "ephemeralContainers", container);
      return effects;
    }
    const auto end = end_of_containers(pod, durations_.job);
    if (!end) return Effects::nothing();
    if (now >= since + end->after) return end_run(key, pod, *end, {since, now, end->exit_code});
    Effects effects;
    effects.wake_at = since + end->after;
    return effects;
  }

  static Effects end_run(const api::ObjectKey& key, const api::Pod& pod, const ContainersEnd& end,
                         const ContainerRun& run) {
    if (!end.restarts) return Effects::write(key, change_status(key, pod, ended_status(pod, run)));
    const Duration delay = restart_delay(ContainerRecord(pod).restarts(), end.after);
    if (delay == Duration()) return restart(key, pod, run, run.ended);
    Effects effects = Effects::write(key, change_status(key, pod, crashed_status(pod, run, delay)));
    for (const api::Container& container : pod.containers)
      note_back_off(effects, key, pod, kContainers, container);
    return effects;
  }

  static Effects restart(const api::ObjectKey& key, const api::Pod& pod,
                         const std::optional<ContainerRun>& last, Time now) {
    Effects effects = Effects::write(key, change_status(key, pod, restarted_status(pod, last, now)));
    for (const api::Container& container : pod.containers)
      note_start(effects, key, pod, kContainers, container);
    return effects;
  }

  // Of a pod whose containers are not ready: they run since this time, or do not run since then.
  Effects go_on_unready(const View& view, const api::ObjectKey& key, const api::Pod& pod, Time since,
                        Time now) const {
    const ContainerRecord record(pod);
    const auto end = end_of_containers(pod, durations_.job);
    if (!record.backs_off()) {
      const Duration delay = readiness_delay(pod);
      if (delay == Duration()) return start(view, key, pod, now);
      return wait_for_probe(key, pod, end, since, since + delay, now);
    }
    const Time due = since + restart_delay(record.restarts(), end ? end->after : Duration());
    if (now >= due) return restart(key, pod, std::nullopt, now);
    Effects effects;
    effects.wake_at = due;
    return effects;
  }

  static Effects wait_for_probe(const api::ObjectKey& key, const api::Pod& pod,
                                const std::optional<ContainersEnd>& end, Time since, Time ready, Time now) {
    if (end && now >= since + end->after) return end_run(key, pod, *end, {since, now, end->exit_code});
    if (now >= ready) return Effects::write(key, change_status(key, pod, ready_status(pod, ready)));
    Effects effects;
    effects.wake_at = end ? std::min(ready, since + end->after) : ready;
    return effects;
  }

  // Of a deleted pod. Who holds it by a finalizer waits for its phase; where nobody does, it goes at once.
  Effects end(const api::ObjectKey& key, const api::Pod& pod, Time now) const {
    Effects effects;
    const Time running = running_since(pod);
    const Duration grace = Duration::seconds(pod.meta.deletion_grace_s.value_or(0));
    const Time due = pod.meta.deleted - grace + std::min(grace, hook_time(pod) + durations_.termination);
    if (running.is_set() && !pod.finished() && now < due) {
      effects.wake_at = due;
      return effects;
    }
    effects.chains.push_back({key, {}});
    if (!pod.finished() && !pod.meta.finalizers.empty()) {
      const Time started = running.is_set() ? running : now;
      effects.then(change_status(key, pod, ended_status(pod, {started, now, kKilledExitCode})));
    }
    if (pod.meta.deletion_grace_s.value_or(0) > 0) effects.then(client::delete_object(key, pod.meta.uid, 0));
    if (effects.chains.front().writes.empty()) return Effects::nothing();
    if (running.is_set())
      for (const api::Container& container : pod.containers)
        note_of(effects, key, pod, kContainers, container, "Killing", "Stopping container " + container.name);
    return effects;
  }

  // Unset of a pod whose containers are not ready.
  static Time running_since(const api::Pod& pod) {
    const Time ready = api::containers_ready_since(pod);
    return ready.is_set() ? ready - readiness_delay(pod) : ready;
  }

  const ContainersMayStart may_start_;
  const SimulatedDurations durations_;
};

}  // namespace

std::unique_ptr<client::Reconciler> make_simulated_pods(ContainersMayStart may_start,
                                                        SimulatedDurations durations) {
  return std::make_unique<SimulatedPods>(std::move(may_start), durations);
}

}  // namespace berth::controllers
