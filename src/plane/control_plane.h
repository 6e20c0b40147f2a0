// Which deciders make up a control plane, on two engines: the scheduler's own, and one for all others.
//
// The same composition runs in `berth up` (a thread for each engine), in the parts that run alone and in the
// simulator (one thread for all).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/decoded_versions.h"
#include "api/gates.h"
#include "binding/plugin.h"
#include "client/api_client.h"
#include "engine/engine.h"
#include "scheduling/scheduler.h"

namespace berth::health {
class HealthFeed;
}

namespace berth::binding {
class Binder;
}

namespace berth::plane {

// Where the record of a binding is kept. Always: one BindRequest object a pod. WhenWaiting: in memory unless
// the binding waits, is tried again or fails (binding/memory_requests.h); needs scheduler and binder here.
enum class BindRequests { Always, WhenWaiting };

struct ControlPlaneOptions {
  std::vector<std::string> scheduler_names = {"berth", "default-scheduler"};
  bool scheduler = true;
  bool binder = true;
  bool controllers = true;  // claims, garbage collection, namespaces…
  bool simulated_nodes = true;
  BindRequests bind_requests = BindRequests::Always;
  binding::BinderOptions binding = {};           // its binding_conditions follow the gates
  scheduling::SchedulerOptions scheduling = {};  // its names, gates and binding_timeout follow the others
  std::size_t writes_in_flight_max = engine::kWritesInFlightMax;  // of each engine
  engine::EventPacing event_pacing = {};                          // of each engine
  // What drivers report of the nodes here; outlives the control plane. Null: nobody listens to drivers.
  health::HealthFeed* health = nullptr;
  // Hears of every decision, on the scheduler's thread; outlives the control plane. Null: nobody.
  scheduling::DecisionLog* decisions = nullptr;
  // Shared with other control planes of one program. Null: an own one.
  std::shared_ptr<api::DecodedVersions> decoded = nullptr;
};

// Owner: one thread until start(); after that the engines belong to who steps them.
class ControlPlane {
 public:
  // `client` and `gates` outlive it. Without both a scheduler and a binder BindRequests are objects always.
  ControlPlane(client::ApiClient& client, const api::Gates& gates, ControlPlaneOptions options);
  ~ControlPlane();

  // Begins to watch.
  void start();
  // On the thread of start(), before or after it. Leads as Leadership{0} without it. A term that begins lists
  // everything afresh; no decider runs before those lists came.
  void lead(engine::Leading leading, client::Leadership leadership = {});
  // No message comes after it returns.
  void stop_watching();

  // Null when the options leave it empty.
  engine::Engine* scheduling();
  engine::Engine* controllers();

  // For callers that step the engines themselves.
  const scheduling::SchedulingQueue& queue() const;
  const scheduling::DecisionRing& decisions() const;
  const scheduling::Scheduler& scheduler() const;
  // Null without a binder; for who steps the controllers.
  const binding::Binder* binder() const;

  // For one thread that runs both: a bounded piece of work each; true when there is more to do at once.
  bool step(Time now);
  std::optional<Time> next_wake() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::plane
