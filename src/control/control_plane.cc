#include "control/control_plane.h"

#include "api/type_table.h"
#include "control/controllers/controllers.h"

namespace berth::control {
namespace {

// Every resource that can be watched and deleted, once per kind.
std::vector<ServedResource> watched_resources() {
  std::vector<ServedResource> served;
  for (const api::ResourceInfo& resource : api::resources()) {
    const bool watchable = resource.verbs.find("watch") != std::string_view::npos;
    bool known = false;
    for (const ServedResource& other : served)
      known |= other.resource.group == resource.group && other.resource.resource == resource.plural;
    // The same events are served in two groups.
    if (!watchable || known || resource.group == "events.k8s.io") continue;
    served.push_back(
        {{std::string(resource.group), std::string(resource.version), std::string(resource.plural)},
         std::string(resource.kind),
         resource.namespaced});
  }
  return served;
}

void add_controllers(Engine& engine) {
  engine.add(make_claim_from_template());
  engine.add(make_group_claim_from_template());
  engine.add(make_claim_release());
  engine.add(make_garbage_collector(watched_resources()));
  engine.add(make_namespace_finalizer(watched_resources()));
  engine.add(make_pod_group_protection());
  engine.add(make_pod_finisher());
  engine.add(make_event_sweep());
}

void add_simulated_nodes(Engine& engine) {
  engine.add(make_simulated_nodes());
  engine.add(make_simulated_pods());
  engine.add(make_simulated_fabric());
}

}  // namespace

struct ControlPlane::Parts {
  explicit Parts(client::ApiClient& client) : hub(client) {}
  std::unique_ptr<Engine> scheduling;
  std::unique_ptr<Engine> controllers;
  InformerHub hub;
};

ControlPlane::ControlPlane(client::ApiClient& client, const api::Gates& gates, ControlPlaneOptions options)
    : parts_(std::make_unique<Parts>(client)) {
  (void)gates;
  if (options.controllers || options.simulated_nodes || options.binder) {
    parts_->controllers = std::make_unique<Engine>(client, EngineOptions{});
    if (options.controllers) add_controllers(*parts_->controllers);
    if (options.simulated_nodes) add_simulated_nodes(*parts_->controllers);
    parts_->controllers->attach_to(parts_->hub);
  }
}

ControlPlane::~ControlPlane() {
  stop_watching();
}

void ControlPlane::start() {
  parts_->hub.start();
}
void ControlPlane::stop_watching() {
  parts_->hub.stop();
}
Engine* ControlPlane::scheduling() {
  return parts_->scheduling.get();
}
Engine* ControlPlane::controllers() {
  return parts_->controllers.get();
}

bool ControlPlane::step(Time now) {
  bool more = false;
  for (Engine* engine : {scheduling(), controllers()})
    if (engine) more |= engine->step(now);
  return more;
}

std::optional<Time> ControlPlane::next_wake() const {
  std::optional<Time> next;
  for (const Engine* engine : {parts_->scheduling.get(), parts_->controllers.get()}) {
    if (!engine) continue;
    const std::optional<Time> wake = engine->next_wake();
    if (wake && (!next || *wake < *next)) next = wake;
  }
  return next;
}

}  // namespace berth::control
