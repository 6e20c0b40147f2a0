// The cells of `kubectl get pods`, the only printer with logic.
#include "server/conditions.h"
#include "server/metadata.h"
#include "server/tables.h"

namespace berth::server {
namespace {

// The summary of the containers' states.
struct PodSummary {
  std::string reason;
  std::int64_t ready = 0;
  std::int64_t restarts = 0;
  std::string last_restart;  // RFC 3339 in UTC: compares as text
};

bool is_sidecar(const Json& spec, std::string_view name) {
  for (const Json& container : spec.items_at("initContainers"))
    if (container.string_at("name") == name) return container.string_at("restartPolicy") == "Always";
  return false;
}

void count_restarts(const Json& container, PodSummary& summary) {
  summary.restarts += container.int_at("restartCount");
  const Json* last = container.find_path({"lastState", "terminated"});
  const std::string_view ended = last ? last->string_at("finishedAt") : "";
  if (ended > summary.last_restart) summary.last_restart = ended;
}

// "Completed", "Signal:9" or "ExitCode:3" of a terminated state.
std::string ended_reason(const Json& terminated) {
  const std::string_view reason = terminated.string_at("reason");
  if (!reason.empty()) return std::string(reason);
  const std::int64_t signal = terminated.int_at("signal");
  if (signal != 0) return "Signal:" + std::to_string(signal);
  return "ExitCode:" + std::to_string(terminated.int_at("exitCode"));
}

// True while an init container blocks the pod. `sidecars` collects the counts of restartable ones.
bool sum_init_containers(const Json& spec, const Json& status, PodSummary& summary, PodSummary& sidecars) {
  const JsonArray& containers = status.items_at("initContainerStatuses");
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Json& container = containers[i];
    count_restarts(container, summary);
    const bool sidecar = is_sidecar(spec, container.string_at("name"));
    if (sidecar) count_restarts(container, sidecars);
    const Json& state = container.part("state");
    const Json* terminated = state.find("terminated");
    if (terminated && terminated->int_at("exitCode") == 0) continue;
    if (sidecar && container.bool_at("started")) {
      if (container.bool_at("ready")) ++sidecars.ready;
      continue;
    }
    const std::string_view waits = state.part("waiting").string_at("reason");
    if (terminated)
      summary.reason = "Init:" + ended_reason(*terminated);
    else if (!waits.empty() && waits != "PodInitializing")
      summary.reason = "Init:" + std::string(waits);
    else
      summary.reason =
          "Init:" + std::to_string(i) + "/" + std::to_string(spec.items_at("initContainers").size());
    return true;
  }
  return false;
}

void sum_containers(const Json& status, PodSummary& summary) {
  const JsonArray& containers = status.items_at("containerStatuses");
  bool any_running = false;
  for (auto container = containers.rbegin(); container != containers.rend(); ++container) {
    count_restarts(*container, summary);
    const Json& state = container->part("state");
    const Json* terminated = state.find("terminated");
    const std::string_view waits = state.part("waiting").string_at("reason");
    const bool runs = container->bool_at("ready") && state.find("running");
    if (!waits.empty())
      summary.reason = waits;
    else if (terminated)
      summary.reason = ended_reason(*terminated);
    else if (runs)
      ++summary.ready, any_running = true;
  }
  if (summary.reason == "Completed" && any_running)
    summary.reason = condition_is_true(status, "Ready") ? "Running" : "NotReady";
}

PodSummary summary_of(const Json& pod) {
  const Json &spec = pod.part("spec"), &status = pod.part("status");
  const std::string_view phase = status.string_at("phase");
  PodSummary summary, sidecars;
  summary.reason = or_else(status.string_at("reason"), phase);
  for (const Json& condition : status.items_at("conditions"))
    if (condition.string_at("type") == "PodScheduled" && condition.string_at("reason") == "SchedulingGated")
      summary.reason = "SchedulingGated";
  const bool initializing = sum_init_containers(spec, status, summary, sidecars);
  summary.ready = sidecars.ready;
  if (!initializing || condition_is_true(status, "Initialized")) {
    summary.restarts = sidecars.restarts;
    summary.last_restart = sidecars.last_restart;
    sum_containers(status, summary);
  }
  const bool finished = phase == "Succeeded" || phase == "Failed";
  if (is_deleting(pod) && status.string_at("reason") == "NodeLost")
    summary.reason = "Unknown";
  else if (is_deleting(pod) && !finished)
    summary.reason = "Terminating";
  return summary;
}

std::string readiness_gates(const Json& spec, const Json& status) {
  const JsonArray& gates = spec.items_at("readinessGates");
  if (gates.empty()) return "<none>";
  std::size_t open = 0;
  for (const Json& gate : gates) open += condition_is_true(status, gate.string_at("conditionType"));
  return std::to_string(open) + "/" + std::to_string(gates.size());
}

}  // namespace

JsonArray pod_cells(const Json& pod, Time now) {
  const Json &spec = pod.part("spec"), &status = pod.part("status");
  const PodSummary summary = summary_of(pod);
  std::size_t total = spec.items_at("containers").size();
  for (const Json& container : spec.items_at("initContainers"))
    total += container.string_at("restartPolicy") == "Always";
  std::string restarts = std::to_string(summary.restarts);
  if (summary.restarts != 0 && !summary.last_restart.empty())
    restarts += " (" + since(summary.last_restart, now) + " ago)";
  const JsonArray& ips = status.items_at("podIPs");
  return {name_of(pod),
          std::to_string(summary.ready) + "/" + std::to_string(total),
          summary.reason,
          restarts,
          age_of(pod, now),
          or_else(ips.empty() ? "" : ips.front().string_at("ip"), "<none>"),
          or_else(spec.string_at("nodeName"), "<none>"),
          or_else(status.string_at("nominatedNodeName"), "<none>"),
          readiness_gates(spec, status)};
}

}  // namespace berth::server
