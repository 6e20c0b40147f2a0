#include "sim/world.h"

#include "api/served_kinds.h"
#include "base/clock.h"
#include "base/executor.h"
#include "dra/cel_check.h"
#include "plane/control_plane.h"
#include "server/in_process_client.h"
#include "store/store.h"

namespace berth::sim {
namespace {

api::ResourceRef ref_of(const api::ResourceInfo& resource) {
  return {std::string(resource.group), std::string(resource.version), std::string(resource.plural)};
}

}  // namespace

std::unique_ptr<store::Store> memory_store() {
  store::StoreOptions options;
  options.synchronous = true;
  return store::open_store(options).value();
}

struct World::Parts {
  Parts(WorldOptions options, api::Gates enabled, api::Gates enabled_in_deciders)
      : gates(std::move(enabled)),
        decider_gates(std::move(enabled_in_deciders)),
        gate_changes(options.feature_gates),
        gpu_reservation_pods(options.gpu_reservation_pods),
        profile{"berth", {}, {.resources_fit = std::move(options.resources_fit)}},
        victim_scoring(options.victim_scoring),
        defragmentation(options.defragmentation),
        random(options.seed),
        store(memory_store()),
        server({*store, executor, clock, random, gates, dra::check_cel}, {}),
        client(server::make_in_process_client(server, "system:berth")),
        faulty(*client, options.faults, options.seed),
        user(server::make_in_process_client(server, "kubernetes-admin")) {
    const Status made = server.make_default_objects();
    BERTH_ASSERT(made.ok(), "an empty store takes the default namespaces");
    server.set_ready(true);
    start();
  }

  void start() {
    plane::ControlPlaneOptions options;
    options.health = &health.feed();
    options.scheduling.profiles = {profile};
    options.scheduling.victim_scoring = victim_scoring;
    options.scheduling.defragmentation = defragmentation;
    options.binding.gpu_sharing = true;
    if (gpu_reservation_pods) options.binding.gpu_reservations = binding::GpuReservations::Pods;
    plane = std::make_unique<plane::ControlPlane>(faulty, decider_gates, std::move(options));
    plane->start();
  }

  static Result<api::Gates> parse_gates(const std::string& changes, const std::string& more) {
    const bool both = !changes.empty() && !more.empty();
    return api::Gates::parse(api::GateDefaults::Up, changes + (both ? "," : "") + more);
  }

  api::Gates gates;
  api::Gates decider_gates;
  std::string gate_changes;
  const bool gpu_reservation_pods;
  const placement::Profile profile;
  const placement::VictimScoring victim_scoring;
  const scheduling::DefragmentationSettings defragmentation;
  ManualClock clock{kWorldStart};
  SeededRandom random;
  InlineExecutor executor;
  std::unique_ptr<store::Store> store;
  server::ApiServer server;
  std::unique_ptr<client::ApiClient> client;
  FaultyClient faulty;
  std::unique_ptr<client::ApiClient> user;
  ReportedHealth health;
  std::unique_ptr<plane::ControlPlane> plane;
};

Result<std::unique_ptr<World>> World::make(WorldOptions options) {
  api::Gates gates = TRY(Parts::parse_gates(options.feature_gates, ""));
  api::Gates deciders = TRY(Parts::parse_gates(options.feature_gates, options.decider_gates));
  return std::unique_ptr<World>(
      new World(std::make_unique<Parts>(std::move(options), std::move(gates), std::move(deciders))));
}

World::World(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
World::~World() = default;

client::ApiReply World::call(client::ApiRequest request) {
  client::ApiReply answered;
  parts_->user->submit(std::move(request), [&](client::ApiReply reply) { answered = std::move(reply); });
  return answered;
}

client::ApiReply World::create(const Json& object) {
  const std::string api_version(object.string_at("apiVersion"));
  const api::ResourceInfo* resource = api::find_resource_of_kind(api_version, object.string_at("kind"));
  client::ApiReply refused;
  refused.code = 404;
  refused.message =
      "no kind \"" + std::string(object.string_at("kind")) + "\" in version \"" + api_version + "\"";
  if (!resource) return refused;
  const Json* ns = object.find_path({"metadata", "namespace"});
  client::ApiRequest request;
  request.verb = client::Verb::Create;
  request.resource = ref_of(*resource);
  if (resource->namespaced) request.ns = ns ? ns->as_string() : "default";
  request.body = to_string(object);
  return call(std::move(request));
}

Json World::read(const api::ResourceRef& resource, const std::string& ns, const std::string& name) {
  const client::ApiReply reply = call({client::Verb::Get, resource, ns, name, "", ""});
  if (!reply.ok() || !reply.object) return Json();
  return parse_json(*reply.object).value_or(Json());
}

std::vector<Json> World::read_all(const api::ResourceRef& resource) {
  std::vector<Json> objects;
  const api::ResourceInfo* info = api::find_resource(resource.group, resource.version, resource.resource);
  if (!info) return objects;
  store::ListQuery query;
  query.resource = api::storage_resource(*info);
  if (const Result<store::ListPage> page = parts_->store->list(query))
    for (const store::ObjectPtr& object : page->objects)
      objects.push_back(parse_json(object->bytes).value_or(Json()));
  return objects;
}

ReportedHealth& World::reported_health() {
  return parts_->health;
}

void World::advance(Duration time) {
  const Time until = parts_->clock.now() + time;
  for (;;) {
    std::size_t steps = 0;
    while (!killed() && parts_->plane->step(parts_->clock.now()))
      BERTH_ASSERT(++steps < kStepsPerInstantMax, "the deciders come to rest at every instant");
    if (killed()) return;
    std::optional<Time> next = parts_->plane->next_wake();
    if (const auto due = parts_->health.next_deadline(); due && (!next || *due < *next)) next = due;
    if (!next || *next > until) break;
    parts_->clock.advance_to(std::max(*next, parts_->clock.now() + Duration::micros(1)));
    parts_->health.expire(parts_->clock.now());
  }
  parts_->clock.advance_to(until);
  parts_->server.tick(parts_->clock.monotonic());
}

void World::restart_deciders() {
  parts_->plane.reset();
  parts_->faulty.die_at_write(0, "");
  parts_->start();
}

const api::Gates& World::gates() const {
  return parts_->decider_gates;
}

Status World::restart_deciders(const std::string& gates) {
  parts_->decider_gates = TRY(Parts::parse_gates(parts_->gate_changes, gates));
  restart_deciders();
  return {};
}

void World::kill_at_write(std::uint64_t nth, std::string resource) {
  parts_->faulty.die_at_write(nth, std::move(resource));
}
bool World::killed() const {
  return parts_->faulty.dead();
}

void World::stop_faults() {
  parts_->faulty.set_rates({});
}

std::string World::text() {
  std::string text;
  for (const api::ResourceInfo& resource : api::resources()) {
    store::ListQuery query;
    query.resource = api::storage_resource(resource);
    const Result<store::ListPage> page = parts_->store->list(query);
    if (!page) continue;
    for (const store::ObjectPtr& object : page->objects) text.append(object->bytes).append("\n");
  }
  return text;
}

Time World::now() const {
  return parts_->clock.now();
}
std::uint64_t World::faults() const {
  return parts_->faulty.faults();
}
WriteCounts World::writes_to(std::string_view resource) const {
  const auto& counts = parts_->faulty.counts();
  const auto found = counts.find(resource);
  return found == counts.end() ? WriteCounts{} : found->second;
}

}  // namespace berth::sim
