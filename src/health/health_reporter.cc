#include "health/health_reporter.h"

#include <algorithm>
#include <map>

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
  std::map<std::string, Health> told;  // by position and device: the health in the newest event
};

// The findings of one run, before it decides whether to write.
struct Draft {
  Json patch = Json::object();
  PodStatusLists wanted;
  std::map<std::string, ResourceStatus> before;
  bool changed = false;
};

bool concerns(const api::Pod& pod) {
  return pod.bound() && !pod.claims.empty();
}

class HealthReporter final : public client::Reconciler {
 public:
  HealthReporter(HealthFeed& feed, PodLevelHealth pod_level) : feed_(feed), pod_level_(pod_level) {}

  std::string_view name() const override { return kReporterName; }
  std::vector<client::Interest> interests() const override;
  void signalled(const View& view, const api::ObjectKey& about,
                 std::vector<api::ObjectKey>& keys) const override;
  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override;

 private:
  Draft draft(const View& view, const api::Pod& pod, const Json& status, const HealthSnapshot& health) const;
  void add_field(Draft& draft, const View& view, const api::Pod& pod, const Json& status, StatusField field,
                 const HealthSnapshot& health) const;
  static bool may_write(const PodMemory& memory, const PodStatusLists& wanted, Time now);
  static void note_transitions(Effects& effects, PodMemory& memory, const api::ObjectKey& key,
                               const Draft& draft);

  HealthFeed& feed_;
  PodLevelHealth pod_level_;
  std::map<client::NamedKey, PodMemory> memories_;  // of pods with a write; dropped with the pod
};

std::vector<client::Interest> HealthReporter::interests() const {
  const auto pod_keys = [](const View&, const Delta& delta, std::vector<api::ObjectKey>& keys) {
    const auto& pod = delta.after ? *delta.after : *delta.before;
    if (concerns(*std::get<std::shared_ptr<const api::Pod>>(pod))) keys.push_back(delta.key);
  };
  const auto claim_keys = [](const View& view, const Delta& delta, std::vector<api::ObjectKey>& keys) {
    for (const api::Pod* pod : view.pods_using_claim(delta.key.ns, delta.key.name))
      if (concerns(*pod)) keys.push_back(client::key_of(Kind::Pod, pod->meta));
  };
  return {{Kind::Pod, {}, pod_keys}, {Kind::ResourceClaim, {}, claim_keys}};
}

void HealthReporter::signalled(const View& view, const api::ObjectKey& about,
                               std::vector<api::ObjectKey>& keys) const {
  const HealthFeed::Snapshot health = feed_.latest(about.name);
  if (!health) return;
  std::vector<const api::Pod*> pods = view.pods_on_node(about.name);
  std::erase_if(pods, [](const api::Pod* pod) { return !concerns(*pod); });
  std::stable_partition(pods.begin(), pods.end(),
                        [&](const api::Pod* pod) { return has_sick_device(view, *pod, *health); });
  for (const api::Pod* pod : pods) keys.push_back(client::key_of(Kind::Pod, pod->meta));
}

Effects HealthReporter::reconcile(const View& view, const api::ObjectKey& key, Time now) {
  const api::Pod* pod = view.pods.find(key.ns, key.name);
  const client::NamedKey name{key.ns, key.name};
  // A finished pod keeps its last lists.
  if (!pod || !concerns(*pod) || pod->finished()) {
    memories_.erase(name);
    return Effects::nothing();
  }
  const HealthFeed::Snapshot health = feed_.latest(pod->node_name);
  if (!health) return Effects::nothing();
  const Result<Json> object = parse_json(*pod->raw);
  const Json* status = object.ok() ? object->find("status") : nullptr;
  if (!status || status->items_at("containerStatuses").empty()) return Effects::nothing();

  Draft draft = this->draft(view, *pod, *status, *health);
  if (!draft.changed) return Effects::nothing();
  PodMemory& memory = memories_[name];
  if (memory.uid != pod->meta.uid) memory = {pod->meta.uid, {}, {}, 0, {}};
  if (!may_write(memory, draft.wanted, now)) {
    Effects effects;
    effects.wake_at = memory.offered_at + kStatusWritePeriod;
    return effects;
  }
  Effects effects =
      Effects::write(key, client::merge_patch(key, Json::object({{"status", std::move(draft.patch)}}),
                                              pod->meta.uid, pod->meta.resource_version, "status"));
  note_transitions(effects, memory, key, draft);
  for (client::EventNote& note : effects.events) note.regarding_uid = pod->meta.uid;
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
  ResourceStatus before = claim_entries(status), wanted = wanted_pod_level_status(view, pod, health);
  if (before != wanted) {
    draft.changed = true;
    Json own = Json::object({{"allocatedResourcesStatus", JsonArray()}});
    set_claim_entries(own, wanted);
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
  bool changed = false;
  for (Json& item : statuses) {
    const auto& all = *field.containers;
    const auto container = std::find_if(all.begin(), all.end(), [&](const api::Container& candidate) {
      return candidate.name == item.string_at("name");
    });
    if (container == all.end()) continue;
    if (field.containers == &pod.init_containers && !container->restartable_init) continue;
    ResourceStatus before = claim_entries(item), wanted = wanted_status(view, pod, *container, health);
    if (before != wanted) {
      changed = true;
      set_claim_entries(item, wanted);
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

std::unique_ptr<client::Reconciler> make_health_reporter(HealthFeed& feed, PodLevelHealth pod_level) {
  return std::make_unique<HealthReporter>(feed, pod_level);
}

}  // namespace berth::health
