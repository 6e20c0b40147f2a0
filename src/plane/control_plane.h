// The composition of a control plane from deciders on two engines: one for the scheduler, one for all others.
// The binder runs on the scheduler's where BindRequests are in memory: what the one writes the other reads at
// once, without a second view and a second thread to wake.
//
// The same composition runs in `berth up` (a thread for each engine), in the components that run alone and in
// the simulator (one thread for all).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/decoded_versions.h"
#include "api/gates.h"
#include "binding/plugin.h"
#include "client/api_client.h"
#include "controllers/controllers.h"
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
// the binding waits, is retried or fails (binding/memory_requests.h); needs scheduler and binder here.
enum class BindRequests { Always, WhenWaiting };

struct ControlPlaneOptions {
  std::vector<std::string> scheduler_names = {"berth", "default-scheduler"};
  bool scheduler = true;
  bool binder = true;
  bool controllers = true;  // claims, garbage collection, namespaces, workloads…
  // Which controllers run: '*' for all, a name, or '-name' for all but it (controller_names.h).
  std::vector<std::string> controller_names = {"*"};
  std::string root_ca;  // PEM certificate of the API server's CA, published in every namespace; empty: not
  bool simulated_nodes = true;
  controllers::SimulatedDurations simulated = {};
  bool health_policies = false;  // on what agents elsewhere report; beside controllers they run anyway
  BindRequests bind_requests = BindRequests::Always;
  // Names this process in its decisions, so that a write of an earlier one that lands late is known. Empty
  // where it holds a Lease, or where the API server ends with it.
  std::string process = {};
  binding::BinderOptions binding = {};           // its binding_conditions follow the gates
  scheduling::SchedulerOptions scheduling = {};  // its names, gates and binding_timeout follow the others
  std::size_t writes_in_flight_max = engine::kWritesInFlightMax;  // of each engine
  engine::EventPacing event_pacing = {};                          // of each engine
  // Reports of drivers on the nodes here; outlives the control plane. Null: no drivers are watched.
  health::HealthFeed* health = nullptr;
  // Receives every decision, on the scheduler's thread; outlives the control plane. Null: none.
  scheduling::DecisionLog* decisions = nullptr;
  // Follows the cluster on an engine of its own, leader or not; writes nothing. Outlives the control plane.
  // Null: none.
  client::StatefulDecider* observer = nullptr;
  // Shared with other control planes of one program that read the same texts. Null: not shared.
  std::shared_ptr<api::DecodedVersions> decoded = nullptr;
};

api::Texts texts_read_by(const ControlPlaneOptions& options);
// Resources that may be missing, so that a scheduler works with an older ClusterRole. Without those that say
// which pods are replicas, pods are spread less evenly. Without groups of other projects, their pods wait.
// Reports of device health may be missing where only an observer reads them. Not Topologies and
// PlacementPolicies: what they require must not be passed over.
std::vector<api::ResourceRef> optional_resources(const ControlPlaneOptions& options);

// Owner: one thread until start(); after that the engines belong to the callers of their step().
class ControlPlane {
 public:
  // `client` and `gates` outlive it. Without a scheduler and a binder BindRequests are always objects.
  ControlPlane(client::ApiClient& client, const api::Gates& gates, ControlPlaneOptions options);
  ~ControlPlane();

  // Starts the watches.
  void start();
  // Called on the thread of start(), before or after it. Without a call it leads as Leadership{0}. A new term
  // lists everything again; no decider runs before these lists have arrived.
  void lead(engine::Leading leading, client::Leadership leadership = {});
  // No message arrives after it returns.
  void stop_watching();

  // Null when the options disable it.
  engine::Engine* scheduling();
  engine::Engine* controllers();
  engine::Engine* binding();  // the one of both that runs the binder
  engine::Engine* observing();

  // For callers that step the engines themselves.
  const scheduling::SchedulingQueue& queue() const;
  const scheduling::DecisionCounts& decisions() const;
  const scheduling::Scheduler& scheduler() const;
  // Null without a binder; for the thread that steps binding().
  const binding::Binder* binder() const;

  // For one thread that runs both: a bounded amount of work each; true when more work is ready.
  bool step(Time now);
  std::optional<Time> next_wake() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::plane
