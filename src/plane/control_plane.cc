#include "plane/control_plane.h"

#include "api/types/node_device_health.h"
#include "base/log.h"
#include "binding/binder.h"
#include "binding/claim_deallocator.h"
#include "binding/gang_barrier.h"
#include "binding/gpu_reservation.h"
#include "binding/memory_requests.h"
#include "controllers/controllers.h"
#include "dra/cel_selectors.h"
#include "groups/group_adopter.h"
#include "groups/source.h"
#include "health/health_policy.h"
#include "health/health_reporter.h"
#include "health/node_pods.h"
#include "model/replica_selectors.h"
#include "scheduling/scheduler.h"
#include "workloads/workloads.h"

namespace berth::plane {
namespace {

using controllers::controller_rows;
using controllers::ControllerGroup;
using controllers::ControllerRow;
using engine::Engine;
using engine::EngineOptions;

void add_controllers(Engine& engine, ControllerGroup group, std::span<const std::string> names) {
  for (const ControllerRow& row : controller_rows()) {
    const bool enabled = row.name.empty() || workloads::is_enabled(row.name, row.alias, names);
    if (row.group == group && enabled) engine.add(row.make());
  }
}

void add_workloads(Engine& engine, const ControlPlaneOptions& options) {
  const std::vector<std::string>& names = options.controller_names;
  for (const workloads::WorkloadRow& row : workloads::workload_rows())
    if (workloads::is_enabled(row, names)) engine.add(row.make());
  if (!options.root_ca.empty() && workloads::is_enabled(workloads::kRootCaPublisher, names))
    engine.add(workloads::make_root_ca_publisher(options.root_ca));
}

bool in_memory(const ControlPlaneOptions& options) {
  return options.bind_requests == BindRequests::WhenWaiting && options.scheduler && options.binder;
}

// Whether an engine beside the scheduler's is needed.
bool has_second_engine(const ControlPlaneOptions& options) {
  return options.controllers || options.simulated_nodes || options.health ||
         (!in_memory(options) && (options.binder || options.health_policies));
}

// Containers start when the node's agent, if any, has prepared their claims.
void add_simulated_nodes(Engine& engine, const health::HealthFeed* feed,
                         controllers::SimulatedDurations durations) {
  add_controllers(engine, ControllerGroup::SimulatedNodes, {});
  controllers::ContainersMayStart may_start;
  if (feed)
    may_start = [feed](const client::View& view, const api::Pod& pod) {
      return health::containers_may_start(*feed, view, pod);
    };
  engine.add(controllers::make_simulated_pods(std::move(may_start), durations));
}

scheduling::SchedulerOptions scheduler_options(const ControlPlaneOptions& options, const api::Gates& gates) {
  scheduling::SchedulerOptions scheduler = options.scheduling;
  scheduler.scheduler_names = options.scheduler_names;
  scheduler.binding_timeout = options.binding.binding_timeout;
  scheduler.gates = dra::gates_of(gates);
  scheduler.process = options.process;
  scheduler.records_in_memory = in_memory(options);
  scheduler.placements = placement::placements_of(gates);
  scheduler.deferred_resizes = gates.enabled("InPlacePodVerticalScalingSchedulerPreemption");
  scheduler.composite_groups = gates.enabled("CompositePodGroup");
  return scheduler;
}

const binding::Binder* add_binder(Engine& engine, const api::Gates& gates, const ControlPlaneOptions& all) {
  binding::BinderOptions options = all.binding;
  if (all.scheduler) options.process = all.process;
  options.binding_conditions = gates.enabled("DRADeviceBindingConditions");
  options.composite_groups = gates.enabled("CompositePodGroup");
  options.nominations = gates.enabled("NominatedNodeNameForExpectation");
  const binding::BinderOptions binding_options = options;
  Result<std::unique_ptr<binding::Binder>> binder = binding::Binder::make(std::move(options));
  BERTH_ASSERT(binder.ok(), "the binder plugins are registered");
  binding::Binder* added = binder->get();
  engine.add(binding::make_gang_barrier(binding_options, *added));
  engine.add(std::move(binder).value());
  engine.add(binding::make_claim_deallocator());
  if (binding_options.gpu_reservations == binding::GpuReservations::Pods)
    engine.add(binding::make_gpu_reservation_keeper());
  return added;
}

// Policies read the agents of this process, so they run where the other controllers do.
void add_node_agents(Engine& engine, const api::Gates& gates, const ControlPlaneOptions& options) {
  health::HealthFeed& feed = *options.health;
  const bool policies = options.controllers;
  const auto role =
      options.simulated_nodes ? health::NodeRole::OwnsNodes : health::NodeRole::RegistersDrivers;
  const bool pod_level = gates.enabled("BerthPodLevelHealth");
  engine.add(health::make_health_reporter(
      feed, pod_level ? health::PodLevelHealth::Write : health::PodLevelHealth::Omit, role));
  if (policies) engine.add(health::make_health_policies(&feed));
  // The reporter first: it reads what is published, and the next publication is told again.
  feed.on_change([&engine, policies](const std::string& node) {
    const api::ObjectKey about{api::Kind::Node, "", node, {}};
    engine.wake(health::kReporterName, about);
    engine.wake(controllers::kSimulatedPodsName, about);
    if (policies) engine.wake(health::kHealthPolicyName, about);
  });
}

// Logs the scheduler's repairs and moves, and forwards every call.
class RareEventLog final : public scheduling::DecisionLog {
 public:
  explicit RareEventLog(scheduling::DecisionLog* next) : next_(next) {}
  void append(scheduling::DecisionRecord record) override {
    if (next_) next_->append(std::move(record));
  }
  void gated(scheduling::GateRecord record) override {
    if (next_) next_->gated(std::move(record));
  }
  void repaired(const scheduling::RepairRecord& record) override {
    log(LogLevel::Error, "the scheduler's model differed from the live objects; repaired",
        {{"row", record.row}, {"was", record.was}, {"is", record.is}});
    if (next_) next_->repaired(record);
  }
  void defragmented(const scheduling::DefragmentationRecord& record) override {
    using enum scheduling::DefragmentationResult;
    if (record.result == NoLevel)
      log(LogLevel::Warning, "no domains to make whole", {{"why", record.text}});
    else if (record.result == Begun || record.result == Reached || record.result == GivenUp)
      log(LogLevel::Info, "moves of pods",
          {{"result", std::string(name_of(record.result))}, {"gain", record.text}});
    if (next_) next_->defragmented(record);
  }

 private:
  scheduling::DecisionLog* next_;
};

}  // namespace

api::Texts texts_read_by(const ControlPlaneOptions& options) {
  const bool all = options.controllers || options.simulated_nodes || options.health;
  return all ? api::Texts::OfAllKinds : api::Texts::OfWhatBindingReads;
}

std::vector<api::ResourceRef> optional_resources(const ControlPlaneOptions& options) {
  // A controller would make what it does not see.
  if (options.controllers || !options.scheduler) return {};
  std::vector<api::ResourceRef> resources = model::ReplicaSelectors::resources();
  for (const groups::Source& source : groups::sources())
    if (source.has_objects()) resources.push_back(source.resource);
  if (options.observer && !options.health_policies) resources.push_back(api::node_device_health_resource());
  return resources;
}

struct ControlPlane::Parts {
  Parts(client::ApiClient& api_server, const api::Gates& gates, const ControlPlaneOptions& options)
      : memory(in_memory(options) ? std::make_unique<binding::MemoryRequests>(api_server) : nullptr),
        client(memory ? *memory : api_server),
        repairs(options.decisions),
        scheduler(scheduler_options(options, gates), selectors, &decisions),
        decoded(options.decoded ? options.decoded
                                : std::make_shared<api::DecodedVersions>(api::kDecodedVersionsBytesMax,
                                                                         texts_read_by(options))),
        informers(client, decoded) {
    decisions.pass_on_to(&repairs);
  }
  std::unique_ptr<Engine> make_engine(EngineOptions engine_options, const ControlPlaneOptions& options);

  const std::unique_ptr<binding::MemoryRequests> memory;
  client::ApiClient& client;
  RareEventLog repairs;
  dra::CelSelectors selectors;
  scheduling::DecisionCounts decisions;
  scheduling::Scheduler scheduler;
  std::unique_ptr<Engine> scheduling;
  std::unique_ptr<Engine> controllers;
  std::unique_ptr<Engine> observing;
  Engine* binding = nullptr;                // the one of these that runs the binder
  const binding::Binder* binder = nullptr;  // owned by its engine
  health::HealthFeed* health = nullptr;
  const std::shared_ptr<api::DecodedVersions> decoded;
  engine::SharedInformers informers;
};

std::unique_ptr<Engine> ControlPlane::Parts::make_engine(EngineOptions engine_options,
                                                         const ControlPlaneOptions& options) {
  engine_options.writes_in_flight_max = options.writes_in_flight_max;
  engine_options.event_pacing = options.event_pacing;
  engine_options.decoded = decoded;
  return std::make_unique<Engine>(client, std::move(engine_options));
}

ControlPlane::ControlPlane(client::ApiClient& client, const api::Gates& gates, ControlPlaneOptions options)
    : parts_(std::make_unique<Parts>(client, gates, options)) {
  Parts& parts = *parts_;
  if (options.scheduler) {
    parts.scheduling = parts.make_engine({.component = "berth"}, options);
    parts.scheduling->add(parts.scheduler);
  }
  if (has_second_engine(options)) parts.controllers = parts.make_engine({}, options);
  if (options.controllers) {
    add_controllers(*parts.controllers, ControllerGroup::Cluster, options.controller_names);
    add_workloads(*parts.controllers, options);
  }
  if (options.binder) {
    parts.binding = parts.memory ? parts.scheduling.get() : parts.controllers.get();
    parts.binder = add_binder(*parts.binding, gates, options);
    parts.binding->add(parts.memory ? binding::make_memory_request_collector()
                                    : binding::make_gang_record_collector());
  }
  const bool agents = options.health && gates.enabled("ResourceHealthStatus");
  if (options.simulated_nodes)
    add_simulated_nodes(*parts.controllers, agents ? options.health : nullptr, options.simulated);
  if (agents) {
    parts.health = options.health;
    add_node_agents(*parts.controllers, gates, options);
  }
  // Beside the scheduler that places the groups, here and on a cluster.
  if (options.scheduler) {
    Engine& engine = parts.controllers ? *parts.controllers : *parts.scheduling;
    engine.add(groups::make_group_adopter({options.scheduler_names, gates.enabled("CompositePodGroup")}));
  }
  if (options.health_policies) {
    Engine& engine = parts.controllers ? *parts.controllers : *parts.scheduling;
    engine.add(health::make_health_policies(nullptr));
  }
  if (options.observer) {
    parts.observing = parts.make_engine({.component = "berth-observer"}, options);
    parts.observing->add(*options.observer);
  }
  for (Engine* engine : {scheduling(), controllers(), observing()})
    if (engine) engine->attach_to(parts.informers);
}

ControlPlane::~ControlPlane() {
  if (parts_->health) parts_->health->on_change({});
  stop_watching();
}

void ControlPlane::start() {
  parts_->informers.start();
}
void ControlPlane::lead(engine::Leading leading, client::Leadership leadership) {
  if (parts_->memory && leading == engine::Leading::Yes) parts_->memory->lead(leadership);
  const auto tell = [&] {
    for (Engine* engine : {scheduling(), controllers()})
      if (engine) engine->lead(leading, leadership);
  };
  if (leading == engine::Leading::Yes)
    parts_->informers.relist(tell);
  else
    tell();
}
void ControlPlane::stop_watching() {
  parts_->informers.stop();
}
Engine* ControlPlane::scheduling() {
  return parts_->scheduling.get();
}
Engine* ControlPlane::observing() {
  return parts_->observing.get();
}
Engine* ControlPlane::controllers() {
  return parts_->controllers.get();
}

const scheduling::SchedulingQueue& ControlPlane::queue() const {
  return parts_->scheduler.queue();
}
const scheduling::Scheduler& ControlPlane::scheduler() const {
  return parts_->scheduler;
}
const scheduling::DecisionCounts& ControlPlane::decisions() const {
  return parts_->decisions;
}

const binding::Binder* ControlPlane::binder() const {
  return parts_->binder;
}
Engine* ControlPlane::binding() {
  return parts_->binding;
}

bool ControlPlane::step(Time now) {
  bool more = false;
  for (Engine* engine : {scheduling(), controllers(), observing()})
    if (engine) more |= engine->step(now);
  return more;
}

std::optional<Time> ControlPlane::next_wake() const {
  std::optional<Time> next;
  for (const Engine* engine :
       {parts_->scheduling.get(), parts_->controllers.get(), parts_->observing.get()}) {
    if (!engine) continue;
    const std::optional<Time> wake = engine->next_wake();
    if (wake && (!next || *wake < *next)) next = wake;
  }
  return next;
}

}  // namespace berth::plane
