#include "health/health_reporter.h"

#include <algorithm>
#include <map>

#include "api/serialized.h"
#include "api/types/simulated_node.h"
#include "health/node_pods.h"
#include "health/resource_status.h"

namespace berth::health {
namespace {

using api::Kind;
using client::Delta;
using client::Effects;
using client::View;

// How often one period may emit the same content again: the engine repeats a key whose write met a conflict.
constexpr int kRepeatsPerPeriodMax = 3;

using PodStatusLists = std::map<std::string, ResourceStatus>;  // by container; "" is the pod's own

// One status list field and its containers.
struct StatusField {
  std::string_view name;
  const std::vector<api::Container>* containers;
};

struct PodMemory {
  std::string uid;
  PodStatusLists offered;
  Time offered_at;
  int repeats = 0;
  std::map<std::string, Health> told;                // by position and device: the health in the newest event
  std::map<std::string, std::string> told_failures;  // by reason
};

// The findings of one run, before it decides whether to write.
struct Draft {
  Json patch = Json::object();
  PodStatusLists wanted;
  std::map<std::string, ResourceStatus> before;
  bool changed = false;
};

bool concerns(const api::Pod& pod) {
  return pod.bound() && (!pod.claims.empty() || !pod.extended_claim.empty() || requests_extended(pod));
}

bool has_ended(const Json& container_status) {
  return container_status.part("state").find("terminated") != nullptr;
}

// What keeps a pod's containers from their devices, as kubelet tells it. Each text is told once in a row.
struct StartFailure {
  std::map<std::string, std::string> HealthSnapshot::* texts;  // by pod UID
  const char* reason;
  const char* action;
  const char* before;
  const char* after;
};
constexpr StartFailure kStartFailures[] = {
    {&HealthSnapshot::refused, "UnexpectedAdmissionError", "Allocate", "Allocate failed due to ",
     ", which is unexpected"},
    {&HealthSnapshot::unprepared, "FailedPrepareDynamicResources", "PrepareDynamicResources",
     "Failed to prepare dynamic resources: prepare dynamic resources: ", ""},
};

bool has_start_failure(const HealthSnapshot& health, const std::string& pod_uid) {
  return std::any_of(std::begin(kStartFailures), std::end(kStartFailures),
                     [&](const StartFailure& row) { return (health.*row.texts).contains(pod_uid); });
}

void note_start_failures(Effects& effects, PodMemory& memory, const api::ObjectKey& key,
                         const HealthSnapshot& health) {
  for (const StartFailure& row : kStartFailures) {
    const auto& texts = health.*row.texts;
    const auto found = texts.find(memory.uid);
    if (found == texts.end()) continue;
    if (std::string& told = memory.told_failures[row.reason]; told != found->second) {
      told = found->second;
      effects.events.push_back({key, "", true, row.reason, row.action, row.before + told + row.after});
    }
  }
}

class HealthReporter final : public client::Reconciler {
 public:
  HealthReporter(HealthFeed& feed, PodLevelHealth pod_level, NodeRole role)
      : feed_(feed), pod_level_(pod_level), role_(role) {}

  std::string_view name() const override { return kReporterName; }
  std::vector<client::Interest> interests() const override;
  void signalled(const View& view, const api::ObjectKey& about,
                 std::vector<api::ObjectKey>& keys) const override;
  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override;

 private:
  Effects reconcile_node(const View& view, const api::ObjectKey& key);
  Effects write_status(const View& view, const api::ObjectKey& key, const api::Pod& pod, const Json& status,
                       const HealthSnapshot& health, Time now);
  PodMemory& memory_of(const client::NamedKey& name, const api::Pod& pod);
  OwnEntries own(const api::Pod& pod) const {
    return feed_.serves(pod.node_name) ? OwnEntries::All : OwnEntries::Claims;
  }
  Draft draft(const View& view, const api::Pod& pod, const Json& status, const HealthSnapshot& health) const;
  void add_field(Draft& draft, const View& view, const api::Pod& pod, const Json& status, StatusField field,
                 const HealthSnapshot& health) const;
  static bool may_write(const PodMemory& memory, const PodStatusLists& wanted, Time now);
  static void note_transitions(Effects& effects, PodMemory& memory, const api::ObjectKey& key,
                               const Draft& draft);

  HealthFeed& feed_;
  PodLevelHealth pod_level_;
  NodeRole role_;
  std::map<client::NamedKey, PodMemory> memories_;  // of pods with a write; dropped with the pod
};

std::vector<client::Interest> HealthReporter::interests() const {
  const auto node_key = [this](const api::Pod& pod, std::vector<api::ObjectKey>& keys) {
    if (pod.bound() && feed_.serves(pod.node_name)) keys.push_back({Kind::Node, "", pod.node_name, {}});
  };
  const auto pod_keys = [node_key](const View&, const Delta& delta, std::vector<api::ObjectKey>& keys) {
    const auto& typed = delta.after ? *delta.after : *delta.before;
    const api::Pod& pod = *std::get<std::shared_ptr<const api::Pod>>(typed);
    node_key(pod, keys);
    if (concerns(pod)) keys.push_back(delta.key);
  };
  const auto claim_keys = [node_key](const View& view, const Delta& delta,
                                     std::vector<api::ObjectKey>& keys) {
    for (const api::Pod* pod : view.pods_using_claim(delta.key.ns, delta.key.name)) {
      node_key(*pod, keys);
      if (concerns(*pod)) keys.push_back(client::key_of(Kind::Pod, pod->meta));
    }
  };
  const auto node_keys = [](const View&, const Delta& delta, std::vector<api::ObjectKey>& keys) {
    for (const auto* node :
         {client::object_of<api::Node>(delta.before), client::object_of<api::Node>(delta.after)})
      if (node && api::is_simulated(*node)) return keys.push_back(delta.key);
  };
  std::vector<client::Interest> interests = {{Kind::Pod, {}, pod_keys},
                                             {Kind::ResourceClaim, {}, claim_keys}};
  if (role_ == NodeRole::OwnsNodes) interests.push_back({Kind::Node, {}, node_keys});
  return interests;
}

void HealthReporter::signalled(const View& view, const api::ObjectKey& about,
                               std::vector<api::ObjectKey>& keys) const {
  if (feed_.serves(about.name)) keys.push_back(about);
  const HealthFeed::Snapshot health = feed_.latest(about.name);
  if (!health) return;
  std::vector<const api::Pod*> pods = view.pods_on_node(about.name);
  std::erase_if(pods, [](const api::Pod* pod) { return !concerns(*pod); });
  std::stable_partition(pods.begin(), pods.end(),
                        [&](const api::Pod* pod) { return has_sick_device(view, *pod, *health); });
  for (const api::Pod* pod : pods) keys.push_back(client::key_of(Kind::Pod, pod->meta));
}

// Tells the agent the pods of the node, and the API the amounts that device plugins list.
Effects HealthReporter::reconcile_node(const View& view, const api::ObjectKey& key) {
  const api::Node* node = view.nodes.find("", key.name);
  const bool here = node && api::is_simulated(*node);
  feed_.put_node(key.name, here ? HealthFeed::Presence::Here : HealthFeed::Presence::Gone);
  if (!feed_.serves(key.name)) return Effects::nothing();
  feed_.put_pods(key.name, node_pods(view, key.name));
  const HealthFeed::Snapshot health = feed_.latest(key.name);
  if (!health || !node) return Effects::nothing();
  std::optional<Json> patch = amounts_patch(*node, health->resources);
  if (!patch) return Effects::nothing();
  return Effects::write(key, client::merge_patch(key, std::move(*patch), node->meta.uid, 0, "status"));
}

PodMemory& HealthReporter::memory_of(const client::NamedKey& name, const api::Pod& pod) {
  PodMemory& memory = memories_[name];
  if (memory.uid != pod.meta.uid) memory = {pod.meta.uid, {}, {}, 0, {}, {}};
  return memory;
}

Effects HealthReporter::reconcile(const View& view, const api::ObjectKey& key, Time now) {
  if (key.kind == Kind::Node) return reconcile_node(view, key);
  const api::Pod* pod = view.pods.find(key.ns, key.name);
  // A finished pod keeps its last lists.
  if (!pod || !concerns(*pod) || pod->finished()) {
    memories_.erase({key.ns, key.name});
    return Effects::nothing();
  }
  const HealthFeed::Snapshot health = feed_.latest(pod->node_name);
  if (!health) return Effects::nothing();
  const Result<Json> object = api::parse_object(*pod->raw);
  const Json* status = object.ok() ? object->find("status") : nullptr;
  Effects effects;
  if (status && !status->items_at("containerStatuses").empty())
    effects = write_status(view, key, *pod, *status, *health, now);
  if (has_start_failure(*health, pod->meta.uid))
    note_start_failures(effects, memory_of({key.ns, key.name}, *pod), key, *health);
  for (client::EventNote& note : effects.events) note.regarding_uid = pod->meta.uid;
  return effects;
}

Effects HealthReporter::write_status(const View& view, const api::ObjectKey& key, const api::Pod& pod,
                                     const Json& status, const HealthSnapshot& health, Time now) {
  Draft draft = this->draft(view, pod, status, health);
  if (!draft.changed) return Effects::nothing();
  PodMemory& memory = memory_of({key.ns, key.name}, pod);
  if (!may_write(memory, draft.wanted, now)) {
    Effects effects;
    effects.wake_at = memory.offered_at + kStatusWritePeriod;
    return effects;
  }
  Effects effects =
      Effects::write(key, client::merge_patch(key, Json::object({{"status", std::move(draft.patch)}}),
                                              pod.meta.uid, pod.meta.resource_version, "status"));
  note_transitions(effects, memory, key, draft);
  memory.repeats = memory.offered == draft.wanted ? memory.repeats + 1 : 0;
  memory.offered = std::move(draft.wanted);
  memory.offered_at = now;
  return effects;
}

Draft HealthReporter::draft(const View& view, const api::Pod& pod, const Json& status,
                            const HealthSnapshot& health) const {
  Draft draft;
  add_field(draft, view, pod, status, {"containerStatuses", &pod.containers}, health);
  add_field(draft, view, pod, status, {"initContainerStatuses", &pod.init_containers}, health);
  if (pod_level_ == PodLevelHealth::Omit) return draft;
  ResourceStatus before = own_entries(status, OwnEntries::Claims),
                 wanted = wanted_pod_level_status(view, pod, health);
  if (before != wanted) {
    draft.changed = true;
    Json own = Json::object({{"allocatedResourcesStatus", JsonArray()}});
    set_own_entries(own, wanted, OwnEntries::Claims);
    const Json* list = own.find("allocatedResourcesStatus");
    draft.patch["allocatedResourcesStatus"] = list ? *list : Json();
  }
  draft.before.emplace("", std::move(before));
  draft.wanted.emplace("", std::move(wanted));
  return draft;
}

void HealthReporter::add_field(Draft& draft, const View& view, const api::Pod& pod, const Json& status,
                               StatusField field, const HealthSnapshot& health) const {
  JsonArray statuses = status.items_at(field.name);
  const OwnEntries own = this->own(pod);
  bool changed = false;
  for (Json& item : statuses) {
    const auto& all = *field.containers;
    const auto container = std::find_if(all.begin(), all.end(), [&](const api::Container& candidate) {
      return candidate.name == item.string_at("name");
    });
    if (container == all.end()) continue;
    ResourceStatus before = own_entries(item, own), wanted = wanted_status(view, pod, *container, health);
    // What a container ended with stays.
    if (has_ended(item) && !before.empty()) wanted = before;
    if (before != wanted) {
      changed = true;
      set_own_entries(item, wanted, own);
    }
    draft.before.emplace(container->name, std::move(before));
    draft.wanted.emplace(container->name, std::move(wanted));
  }
  if (!changed) return;
  draft.changed = true;
  draft.patch[field.name] = std::move(statuses);
}

bool HealthReporter::may_write(const PodMemory& memory, const PodStatusLists& wanted, Time now) {
  if (!memory.offered_at.is_set() || now < memory.offered_at) return true;
  if (now - memory.offered_at >= kStatusWritePeriod) return true;
  return memory.offered == wanted && memory.repeats < kRepeatsPerPeriodMax;
}

// An event reports that a device became unhealthy, or healthy after such an event; Unknown is not reported.
void HealthReporter::note_transitions(Effects& effects, PodMemory& memory, const api::ObjectKey& key,
                                      const Draft& draft) {
  for (const auto& [container, lists] : draft.wanted) {
    const ResourceStatus& before = draft.before.at(container);
    for (const auto& [name, resources] : lists) {
      const std::string where = (container.empty() ? "pod" : "container " + container) + ", " + name;
      const auto old = before.find(name);
      for (const auto& [id, health] : resources) {
        Health was = Health::Healthy;
        if (old != before.end())
          if (const auto found = old->second.find(id); found != old->second.end()) was = found->second.health;
        auto& told = memory.told.try_emplace(where + ", " + id, was).first->second;
        if (health.health == Health::Unknown ||
            (health.health == Health::Unhealthy) == (told == Health::Unhealthy))
          continue;
        told = health.health;
        if (effects.events.size() == kHealthEventsPerRunMax) continue;
        const bool sick = health.health == Health::Unhealthy;
        std::string text = where + ": device " + id + (sick ? " is unhealthy" : " is healthy again");
        if (!health.message.empty()) text += ": " + health.message;
        effects.events.push_back(
            {key, "", sick, sick ? "DeviceUnhealthy" : "DeviceHealthy", "ReportHealth", std::move(text)});
      }
    }
  }
}

}  // namespace

std::unique_ptr<client::Reconciler> make_health_reporter(HealthFeed& feed, PodLevelHealth pod_level,
                                                         NodeRole role) {
  return std::make_unique<HealthReporter>(feed, pod_level, role);
}

}  // namespace berth::health
