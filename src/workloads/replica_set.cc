#include <algorithm>

#include "workloads/conditions.h"
#include "workloads/pod_set.h"

namespace berth::workloads {
namespace {

constexpr std::string_view kReplicaFailure = "ReplicaFailure";

// A run visits every pod, so runs of a complete set keep this distance for each of its pods: counting takes a
// few percent of a thread however large the set is.
constexpr Duration kRestPerPod = Duration::micros(50);

struct SetCounts {
  std::int64_t replicas = 0, labeled = 0, ready = 0, available = 0, terminating = 0;
};

// What tells the two kinds that keep equal pods apart.
struct ReplicasKind {
  std::string_view controller, api_version, kind;
  const api::ResourceRef& resource;
  SelectorForm selector;
  bool counts_terminating;  // the status has terminatingReplicas
};

class ReplicaSet final : public client::Reconciler {
 public:
  explicit ReplicaSet(const ReplicasKind& kind) : kind_(kind) {}

  std::string_view name() const override { return kind_.controller; }
  std::vector<client::Interest> interests() const override { return pods_.interests(); }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    const api::AnyObject* object = find_other(view, key.resource, key.ns, key.name);
    if (!object) {
      last_runs_.erase(key);
      return Effects::nothing();
    }
    if (const auto rest = rest_until(key, *object, now)) {
      Effects effects;
      effects.wake_at = rest;
      return effects;
    }
    const auto set = parse_other(key, *object);
    if (!set) return Effects::nothing();
    Effects effects;
    pods_.claim(view, *set, reference_to(*set), effects);
    if (!effects.chains.empty()) return effects;  // how many are missing is known after that
    const std::string refusal = refusals_.take(key);
    // Before the pods: what is refused stops the chains that have not begun.
    if (auto write = status_write(*set, wanted_status(*set, refusal, now, effects)))
      effects.chains.push_back({key, {std::move(*write)}});
    if (!set->meta.deleting()) keep_replicas(view, *set, effects);
    return effects;
  }

  void on_outcome(const View&, const api::ObjectKey& key, const client::Outcome& outcome, Time) override {
    refusals_.note(key, outcome);
  }

 private:
  struct LastRun {
    Time at;
    std::int64_t generation = 0;
    std::int64_t wanted = 0;
  };

  api::OwnerReference reference_to(const Parsed& set) const {
    return controller_reference(set, kind_.api_version, kind_.kind);
  }

  // A change of the set itself, and missing pods, are not left waiting.
  std::optional<Time> rest_until(const api::ObjectKey& key, const api::AnyObject& set, Time now) {
    const auto pods = static_cast<std::int64_t>(pods_.of(set.meta.uid).size());
    LastRun& last = last_runs_[key];
    const Time next = last.at.is_set() ? last.at + kRestPerPod * pods : now;
    const bool rests = last.generation == set.meta.generation && !set.meta.deleting() && now < next &&
                       last.at <= now && pods >= last.wanted &&
                       pods > static_cast<std::int64_t>(kPodsPerRunMax);
    if (rests) return next;
    last = {now, set.meta.generation, last.wanted};
    return std::nullopt;
  }

  void keep_replicas(const View& view, const Parsed& set, Effects& effects) {
    std::vector<const api::Pod*> active;
    const OwnedPods::ByName& pods = pods_.of(set.meta.uid);
    for (const auto& [name, pod] : pods)
      if (is_active(*pod)) active.push_back(pod.get());
    const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(0, set.spec().int_at("replicas", 1)));
    last_runs_[set.key].wanted = static_cast<std::int64_t>(wanted);
    if (active.size() < wanted) {
      if (!takes_pods(view, set.meta.ns)) return;
      const std::size_t count = creates_of_run(wanted - active.size(), active.size());
      const std::string prefix = set.meta.name + "-";
      const NumberedNames names(prefix, set.meta.uid);
      const PodsOfOwner standing{pods, pods_.next_numbers(set.meta.uid)};
      const api::OwnerReference owner = reference_to(set);
      for (const std::string& name : next_names(view, set.meta.ns, names, standing, 0, count))
        create_pod(effects, set,
                   pod_from_template(set.spec().part("template"), owner, set.meta.ns, name, prefix));
      effects.stop_on_failure = true;
      return;
    }
    std::size_t surplus = std::min(active.size() - wanted, kPodsPerRunMax);
    if (surplus == 0) return;
    for (const api::Pod* pod : in_order_of_deletion(std::move(active))) {
      if (surplus-- == 0) break;
      delete_pod(effects, set, *pod);
    }
  }

  SetCounts count(const Parsed& set, Time now, Effects& effects) const {
    const std::int64_t min_ready = set.spec().int_at("minReadySeconds");
    const api::StringMap labels =
        api::decode_string_map(set.spec().part("template").part("metadata").find("labels"));
    SetCounts counts;
    for (const auto& [name, pod] : pods_.of(set.meta.uid)) {
      if (pod->meta.deleting() && !pod->finished()) ++counts.terminating;
      if (!is_active(*pod)) continue;
      ++counts.replicas;
      bool labeled = true;
      for (const auto& [label, value] : labels) {
        const auto found = pod->meta.labels.find(label);
        labeled &= found != pod->meta.labels.end() && found->second == value;
      }
      counts.labeled += labeled;
      counts.ready += is_ready(*pod);
      counts.available += is_available(*pod, min_ready, now, effects);
    }
    return counts;
  }

  JsonObject wanted_status(const Parsed& set, const std::string& refusal, Time now, Effects& effects) const {
    const SetCounts counts = count(set, now, effects);
    Json conditions(set.status().items_at("conditions"));
    if (refusal.empty())
      remove_condition(conditions, kReplicaFailure);
    else
      set_condition(conditions, {std::string(kReplicaFailure), "True", "FailedCreate", refusal, now, 0});
    JsonObject status;
    status.append("replicas", counts.replicas);
    status.append("fullyLabeledReplicas", unless_zero(counts.labeled));
    status.append("readyReplicas", unless_zero(counts.ready));
    status.append("availableReplicas", unless_zero(counts.available));
    if (kind_.counts_terminating) status.append("terminatingReplicas", counts.terminating);
    status.append("observedGeneration", set.meta.generation);
    status.append("conditions", std::move(conditions));
    return status;
  }

  const ReplicasKind kind_;
  OwnedPods pods_{
      kind_.resource,
      std::string(kind_.kind),
      {.selector = kind_.selector, .names = [](const api::OwnerReference& owner, const api::Pod&) {
         return NumberedNames(owner.name + "-", owner.uid);
       }}};
  RefusedWrites refusals_;
  std::map<api::ObjectKey, LastRun> last_runs_;  // of sets that exist
};

}  // namespace

std::unique_ptr<client::Reconciler> make_replica_set() {
  return std::make_unique<ReplicaSet>(ReplicasKind{"replicaset-controller", "apps/v1", "ReplicaSet",
                                                   replica_sets(), SelectorForm::LabelSelector, true});
}

std::unique_ptr<client::Reconciler> make_replication_controller() {
  return std::make_unique<ReplicaSet>(ReplicasKind{"replicationcontroller-controller", "v1",
                                                   "ReplicationController", replication_controllers(),
                                                   SelectorForm::Labels, false});
}

}  // namespace berth::workloads
