// The status that the agent of a simulated node reports of a pod, for patch_status().
//
// Pure functions, any thread. Cost: linear in the pod's containers; ContainerRecord parses a pod that has
// been started before. All containers of a pod begin, end and restart together; its init containers come one
// after the other before (simulated_init.h). Source: the kubelet of Kubernetes 1.37.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "api/types/pod.h"
#include "base/json.h"

namespace berth::controllers {

// Of a container that is killed: 128 and the number of SIGKILL.
inline constexpr std::int64_t kKilledExitCode = 137;
// The wait before a second restart; it doubles with each further one. Containers that ran twice the longest
// wait begin at once.
inline constexpr Duration kRestartDelay = Duration::seconds(10), kRestartDelayMax = Duration::minutes(5);

// How long containers wait that were restarted so often and have ended after this time.
Duration restart_delay(std::int64_t restarts, Duration ran);

// A run of the containers that has ended.
struct ContainerRun {
  Time started, ended;
  std::int64_t exit_code = 0;
};

enum class ContainerState { Creating, Running, BackingOff, Ended };

// What an init container, or all other containers of a pod, do at one time.
struct ContainersAre {
  ContainerState state = ContainerState::Creating;
  Time started = {};                      // of Running
  std::optional<ContainerRun> last = {};  // the run that has just ended
  bool is_restart = false;
  Duration delay = {};   // of BackingOff
  bool is_ready = true;  // of Running
};

// By the places of a pod's init containers; nothing of those whose reported status holds.
using InitChanges = std::vector<std::optional<ContainersAre>>;

// What the agent has reported of a pod's containers before.
class ContainerRecord {
 public:
  explicit ContainerRecord(const api::Pod& pod);

  // The containerStatus; null of a container without one.
  const Json& of(std::string_view container) const;
  const JsonArray& containers() const;
  const JsonArray& ephemeral() const;
  std::int64_t restarts() const;
  // Whether they wait for a restart.
  bool backs_off() const;

 private:
  Json status_;  // null before the first start
};

// Of the status of one container: it has ended with 0.
bool has_succeeded(const Json& status);

bool lacks_image(const api::Pod& pod);
// How long its containers run before their readiness probes succeed: the longest initialDelaySeconds.
Duration readiness_delay(const api::Pod& pod);
// Whether any status of the agent has been reported.
bool is_created(const api::Pod& pod);

// Of a pod whose containers may not start yet.
Json created_status(const api::Pod& pod, Time now);
// Of a pod with an image that cannot be pulled.
Json pull_back_off_status(const api::Pod& pod, Time now);
// Of a pod whose init containers are under way.
Json initializing_status(const api::Pod& pod, const InitChanges& init, Time now);
// Of a pod with an init container that has failed for good.
Json failed_init_status(const api::Pod& pod, const InitChanges& init, Time now);
Json running_status(const api::Pod& pod, const InitChanges& init, Time now);
// Of containers whose probes succeed from this time on.
Json ready_status(const api::Pod& pod, Time at);
// Of containers that run again, after `last` or after a wait.
Json restarted_status(const api::Pod& pod, const std::optional<ContainerRun>& last, Time now);
// Of containers that wait for their restart after `last`.
Json crashed_status(const api::Pod& pod, const ContainerRun& last, Duration delay);
// Of a pod that has ended: Failed unless the code is 0. Containers that wait for init containers never ran.
Json ended_status(const api::Pod& pod, const ContainerRun& last);
Json overdue_status(const api::Pod& pod, const ContainerRun& last);

// The condition Ready of a pod whose containers are: its readiness gates must be too. Nothing where the pod
// says so already.
std::optional<Json> changed_ready_condition(const api::Pod& pod, Time now);

// Conditions that were made for an earlier spec hold for the present one: their observedGeneration.
JsonArray observed_conditions(const api::Pod& pod);
// Ephemeral containers without a status: they were added since the last one. Cost: two parses where the pod
// has any ephemeral container.
std::vector<api::Container> added_ephemeral_containers(const api::Pod& pod);
// The ephemeralContainerStatuses once `added` run, unless their images cannot be pulled. Those that have a
// status keep it.
JsonArray ephemeral_statuses(const api::Pod& pod, const std::vector<api::Container>& added, Time now);

// "p_ns(uid)".
std::string pod_text(const api::Pod& pod);

}  // namespace berth::controllers
