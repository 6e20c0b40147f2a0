#include <algorithm>

#include "workloads/daemon_rollout.h"
#include "workloads/pod_set.h"
#include "workloads/revisions.h"

namespace berth::workloads {
namespace {

// A failed pod is replaced after this time: a node that refuses it is not asked again at once.
constexpr Duration kFailedPodRest = Duration::seconds(10);

api::OwnerReference daemon_reference(const Parsed& set) {
  return controller_reference(set, "apps/v1", "DaemonSet");
}

// Pods of daemons stay on nodes that are in trouble.
JsonArray daemon_tolerations(const Json& spec) {
  JsonArray tolerations = spec.items_at("tolerations");
  const auto add = [&](const char* key, const char* effect) {
    const Json added = Json::object({{"key", key}, {"operator", "Exists"}, {"effect", effect}});
    if (std::find(tolerations.begin(), tolerations.end(), added) == tolerations.end())
      tolerations.push_back(added);
  };
  add("node.kubernetes.io/not-ready", "NoExecute");
  add("node.kubernetes.io/unreachable", "NoExecute");
  for (const char* pressure : {"disk", "memory", "pid"})
    add(("node.kubernetes.io/" + std::string(pressure) + "-pressure").c_str(), "NoSchedule");
  add("node.kubernetes.io/unschedulable", "NoSchedule");
  if (spec.bool_at("hostNetwork")) add("node.kubernetes.io/network-unavailable", "NoSchedule");
  return tolerations;
}

// The node's name joins every term: terms are alternatives.
Json pinned_affinity(const Json& spec, const std::string& node) {
  const Json pin =
      Json::object({{"key", "metadata.name"}, {"operator", "In"}, {"values", Json::array({Json(node)})}});
  Json affinity = spec.part("affinity");
  if (affinity.is_null()) affinity = Json::object();
  const Json& required =
      std::as_const(affinity).part("nodeAffinity").part("requiredDuringSchedulingIgnoredDuringExecution");
  JsonArray terms;
  for (Json term : required.items_at("nodeSelectorTerms")) {
    term["matchFields"] = Json::array({pin});
    terms.push_back(std::move(term));
  }
  if (terms.empty()) terms.push_back(Json::object({{"matchFields", Json::array({pin})}}));
  affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] =
      std::move(terms);
  return affinity;
}

// What a DaemonSet's template says about nodes.
struct Placement {
  std::string node_name;
  api::StringMap selector;
  std::optional<api::NodeSelector> required;
  std::vector<api::Toleration> tolerations;
};

Placement placement_of(const Json& spec) {
  Placement placement;
  placement.node_name = spec.string_at("nodeName");
  placement.selector = api::decode_string_map(spec.find("nodeSelector"));
  if (const Json* required =
          spec.find_path({"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"}))
    placement.required = api::decode_node_selector(*required);
  for (const Json& toleration : daemon_tolerations(spec))
    placement.tolerations.push_back(api::decode_toleration(toleration));
  return placement;
}

struct Fitness {
  bool runs = false;   // a pod is to be made
  bool stays = false;  // one that is there may stay
};

Fitness fitness_of(const Placement& placement, const api::Node& node) {
  if (!placement.node_name.empty() && placement.node_name != node.meta.name) return {};
  for (const auto& [label, value] : placement.selector) {
    const auto found = node.meta.labels.find(label);
    if (found == node.meta.labels.end() || found->second != value) return {};
  }
  if (placement.required && !api::matches(*placement.required, node.meta.labels, node.meta.name)) return {};
  Fitness fitness{true, true};
  for (const api::Taint& taint : node.taints) {
    if (taint.effect == "PreferNoSchedule" || api::tolerates(placement.tolerations, taint)) continue;
    fitness.runs = false;
    fitness.stays &= taint.effect != "NoExecute";
  }
  return fitness;
}

// The node of a pod: where it is bound, else the one that its affinity pins.
std::string node_of_daemon(const api::Pod& pod) {
  if (pod.bound()) return pod.node_name;
  if (!pod.required_node_affinity) return "";
  for (const api::NodeSelectorTerm& term : pod.required_node_affinity->terms)
    for (const api::Requirement& field : term.fields)
      if (field.key == "metadata.name" && field.values.size() == 1) return field.values.front();
  return "";
}

NumberedNames daemon_names(const std::string& set, const std::string& uid, const std::string& node) {
  return NumberedNames(set + "-", uid + "/" + node);
}

// One run of a DaemonSet's key.
class DaemonSetRun {
 public:
  DaemonSetRun(const View& view, Parsed set, const PodsOfOwner& owned, Time now)
      : view_(view),
        set_(std::move(set)),
        next_numbers_(owned.next_numbers),
        now_(now),
        min_ready_(set_.spec().int_at("minReadySeconds")) {
    collisions_ = set_.status().int_at("collisionCount");
    const Json& strategy = set_.spec().part("updateStrategy");
    const Json& surge = strategy.part("rollingUpdate").part("maxSurge");
    surges_ =
        strategy.string_at("type") != "OnDelete" && !surge.is_null() && scaled_amount(surge, 1, true) > 0;
    for (const auto& [name, pod] : owned.pods) by_node_[node_of_daemon(*pod)].emplace(name, pod);
  }

  Effects go() {
    if (set_.meta.deleting() || set_.spec().part("selector") == Json::object()) return std::move(effects_);
    history_ = keep_revisions(view_, set_, daemon_reference(set_), collisions_, effects_);
    if (const TemplateRevision* newest = history_.current()) {
      const auto label = newest->object.meta.labels.find(kRevisionHash);
      if (label != newest->object.meta.labels.end()) hash_ = label->second;
      place();
      update_pods();
    }
    write_status();
    drop_old_revisions(history_, set_, revisions_in_use(), effects_);
    return std::move(effects_);
  }

 private:
  void place() {
    const Placement placement = placement_of(set_.spec().part("template").part("spec"));
    for (const auto& [named, node] : view_.nodes.all()) {
      const Fitness fitness = fitness_of(placement, *node);
      const auto found = by_node_.find(named.name);
      if (fitness.runs) ++desired_;
      const bool stands = found != by_node_.end() && keep_pods(named.name, found->second, fitness);
      if (fitness.runs && !stands) create(named.name);
    }
    // Of nodes that are gone; without a node they would wait for ever.
    for (const auto& [node, pods] : by_node_)
      if (!view_.nodes.find("", node))
        for (const auto& [name, pod] : pods)
          if (!pod->bound()) drop(*pod);
  }

  // The oldest pod of a node stays; with maxSurge the oldest of the newest revision and of the others. True
  // when no pod is to be made there now.
  bool keep_pods(const std::string& node, const OwnedPods::ByName& pods, Fitness fitness) {
    bool waits = false;
    std::vector<const api::Pod*> running;
    for (const auto& [name, pod] : pods) {
      if (pod->meta.deleting())
        waits |= !surges_;  // its successor follows when it is gone
      else if (pod->finished())
        waits |= replace_failed(*pod);
      else
        running.push_back(pod.get());
    }
    if (running.empty()) return waits;
    std::stable_sort(running.begin(), running.end(), [](const api::Pod* a, const api::Pod* b) {
      return std::pair(!a->bound(), a->meta.created) < std::pair(!b->bound(), b->meta.created);
    });
    NodeDaemons kept{.wanted = fitness.runs};
    for (const api::Pod* pod : running) {
      const api::Pod*& place = is_updated(*pod) ? kept.updated : kept.old;
      if (!fitness.stays || place || (kept.counted() && !surges_))
        drop(*pod);
      else
        place = pod;
    }
    if (kept.counted()) keep(node, kept);
    return true;
  }

  void keep(const std::string& node, NodeDaemons kept) {
    const auto serves = [&](const api::Pod* pod) {
      return pod && is_available(*pod, min_ready_, now_, effects_);
    };
    kept.updated_available = serves(kept.updated);
    kept.old_available = serves(kept.old);
    if (kept.updated && kept.old && !is_ready(*kept.old)) {
      drop(*kept.old);
      kept.old = nullptr;
    }
    if (kept.wanted)
      count(kept);
    else
      ++misscheduled_;
    kept_.push_back(kept);
    nodes_.push_back(node);
  }

  bool is_updated(const api::Pod& pod) const {
    const auto label = pod.meta.labels.find(kRevisionHash);
    return label != pod.meta.labels.end() && label->second == hash_;
  }

  // True while it rests.
  bool replace_failed(const api::Pod& pod) {
    const api::Condition* ready = api::find_condition(pod.conditions, "Ready");
    const Time ended = ready && ready->last_transition.is_set() ? ready->last_transition : pod.meta.created;
    if (now_ < ended + kFailedPodRest) {
      wake_by(effects_, ended + kFailedPodRest);
      return true;
    }
    effects_.events.push_back(event_about(set_, true, "FailedDaemonPod",
                                          "Found failed daemon pod " + pod.meta.ns + "/" + pod.meta.name +
                                              " on node " + pod.node_name + ", will try to kill it"));
    drop(pod);
    return true;
  }

  void count(const NodeDaemons& node) {
    ++current_;
    ready_ += is_ready(*node.counted());
    available_ += node.available();
    updated_ += !node.old;
  }

  // RollingUpdate, which makes progress also where an object without defaults allows nothing.
  void update_pods() {
    if (set_.spec().part("updateStrategy").string_at("type") == "OnDelete") return;
    const Json& rolling = set_.spec().part("updateStrategy").part("rollingUpdate");
    const std::int64_t most =
        scaled_amount(rolling.part(surges_ ? "maxSurge" : "maxUnavailable"), desired_, true);
    const DaemonRollout rollout = surges_ ? surge_daemons(kept_, desired_, most)
                                          : replace_daemons(kept_, desired_, std::max<std::int64_t>(1, most));
    for (const api::Pod* pod : rollout.deletes) drop(*pod);
    for (const std::size_t at : rollout.creates) create(nodes_[at]);
  }

  void drop(const api::Pod& pod) {
    if (effects_.chains.size() < 2 * kPodsPerRunMax) delete_pod(effects_, set_, pod);
  }

  void create(const std::string& node) {
    if (taken_.size() >= kPodsPerRunMax || !takes_pods(view_, set_.meta.ns)) return;
    static const OwnedPods::ByName kNone;
    const auto found = by_node_.find(node);
    const NumberedNames names = daemon_names(set_.meta.name, set_.meta.uid, node);
    const PodsOfOwner standing{found == by_node_.end() ? kNone : found->second, next_numbers_};
    for (std::string& name : next_names(view_, set_.meta.ns, names, standing, 0, 1)) {
      if (!taken_.insert(name).second) continue;  // two nodes hit one name: the next run numbers on
      Json pod = pod_from_template(set_.spec().part("template"), daemon_reference(set_), set_.meta.ns,
                                   std::move(name), set_.meta.name + "-");
      pod["metadata"]["labels"][kRevisionHash] = hash_;
      Json& spec = pod["spec"];
      spec["affinity"] = pinned_affinity(std::as_const(spec), node);
      spec["tolerations"] = daemon_tolerations(std::as_const(spec));
      create_pod(effects_, set_, pod);
    }
  }

  std::vector<std::string> revisions_in_use() const {
    std::vector<std::string> used;
    for (const TemplateRevision& revision : history_.revisions) {
      const auto hash = revision.object.meta.labels.find(kRevisionHash);
      if (hash == revision.object.meta.labels.end()) continue;
      const bool in_use = std::any_of(kept_.begin(), kept_.end(), [&](const NodeDaemons& node) {
        const auto label = node.counted()->meta.labels.find(kRevisionHash);
        return label != node.counted()->meta.labels.end() && label->second == hash->second;
      });
      if (in_use) used.push_back(revision.name());
    }
    return used;
  }

  void write_status() {
    JsonObject status;
    status.append("observedGeneration", set_.meta.generation);
    status.append("currentNumberScheduled", current_);
    status.append("numberMisscheduled", misscheduled_);
    status.append("desiredNumberScheduled", desired_);
    status.append("numberReady", ready_);
    status.append("updatedNumberScheduled", unless_zero(updated_));
    status.append("numberAvailable", unless_zero(available_));
    status.append("numberUnavailable", unless_zero(desired_ - available_));
    status.append("collisionCount", collisions_ > 0 ? Json(collisions_) : Json());
    if (!history_.current()) return;
    if (auto write = status_write(set_, status)) effects_.chains.push_back({set_.key, {std::move(*write)}});
  }

  const View& view_;
  const Parsed set_;
  const OwnedPods::NextNumbers& next_numbers_;
  const Time now_;
  const std::int64_t min_ready_;
  std::map<std::string, OwnedPods::ByName> by_node_;
  RevisionHistory history_;
  std::string hash_;                // of the newest revision
  bool surges_ = false;             // maxSurge is more than none
  std::vector<NodeDaemons> kept_;   // of nodes whose pods stay
  std::vector<std::string> nodes_;  // their names
  std::set<std::string> taken_;     // names of this run's creates
  std::int64_t desired_ = 0, current_ = 0, misscheduled_ = 0, ready_ = 0, available_ = 0, updated_ = 0;
  std::int64_t collisions_ = 0;
  Effects effects_;
};

class DaemonSet final : public client::Reconciler {
 public:
  std::string_view name() const override { return "daemonset-controller"; }

  std::vector<client::Interest> interests() const override {
    std::vector<client::Interest> interests = pods_.interests();
    interests.push_back({Kind::Node, {}, [](const View& view, const Delta& delta, Keys& keys) {
                           const auto* before = client::object_of<api::Node>(delta.before);
                           const auto* after = client::object_of<api::Node>(delta.after);
                           if (before && after && reads_alike(*before, *after)) return;
                           for (api::ObjectKey& key : view.keys(Kind::Other, daemon_sets()))
                             keys.push_back(std::move(key));
                         }});
    interests.push_back(wakes_controller(Kind::Other, controller_revisions(), daemon_sets(), "DaemonSet"));
    return interests;
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    auto set = find_parsed(view, key);
    if (!set) return Effects::nothing();
    const std::string refusal = refusals_.take(key);
    Effects effects;
    pods_.claim(view, *set, daemon_reference(*set), effects);
    if (!effects.chains.empty()) return effects;
    if (!refusal.empty())
      effects.events.push_back(event_about(*set, true, "FailedCreate", "Error creating: " + refusal));
    const PodsOfOwner owned{pods_.of(set->meta.uid), pods_.next_numbers(set->meta.uid)};
    Effects run = DaemonSetRun(view, std::move(*set), owned, now).go();
    run.events.insert(run.events.end(), effects.events.begin(), effects.events.end());
    return run;
  }

  void on_outcome(const View&, const api::ObjectKey& key, const client::Outcome& outcome, Time) override {
    refusals_.note(key, outcome);
  }

 private:
  // What decides whether a daemon runs there.
  static bool reads_alike(const api::Node& before, const api::Node& after) {
    const auto same_taint = [](const api::Taint& a, const api::Taint& b) {
      return a.key == b.key && a.value == b.value && a.effect == b.effect;
    };
    return before.meta.uid == after.meta.uid && before.meta.labels == after.meta.labels &&
           std::equal(before.taints.begin(), before.taints.end(), after.taints.begin(), after.taints.end(),
                      same_taint);
  }

  OwnedPods pods_{
      daemon_sets(),
      "DaemonSet",
      {.adopts_finished = true, .names = [](const api::OwnerReference& owner, const api::Pod& pod) {
         return daemon_names(owner.name, owner.uid, node_of_daemon(pod));
       }}};
  RefusedWrites refusals_;
};

}  // namespace

std::unique_ptr<client::Reconciler> make_daemon_set() {
  return std::make_unique<DaemonSet>();
}

}  // namespace berth::workloads
