#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "api/node_names.h"
#include "controllers/controllers.h"
#include "controllers/patches.h"

namespace berth::controllers {

namespace {

// The defaults of kube-controller-manager 1.37: --node-monitor-grace-period, --node-monitor-period,
// --node-eviction-rate, --secondary-node-eviction-rate, --large-cluster-size-threshold,
// --unhealthy-zone-threshold.
constexpr Duration kMonitorGrace = Duration::seconds(50);
constexpr Duration kMonitorPeriod = Duration::seconds(5);
constexpr Duration kEvictEvery = Duration::seconds(10);
constexpr Duration kEvictEverySecondary = Duration::seconds(100);
constexpr std::size_t kLargeZone = 50;
constexpr std::size_t kUnhealthyPercent = 55;
constexpr std::size_t kUnhealthyMin = 3;           // nodes
constexpr std::size_t kPodsMarkedPerRunMax = 500;  // each change of a pod wakes its node for the rest
constexpr std::string_view kNodeControllerComponent = "node-controller";  // in events
constexpr std::string_view kReady = "Ready";

// The conditions that a kubelet keeps, and that are Unknown without it.
constexpr std::array<std::string_view, 4> kKubeletConditions = {"MemoryPressure", "DiskPressure",
                                                                "PIDPressure", kReady};

struct ConditionTaint {
  std::string_view type, status, key;
};
constexpr std::array<ConditionTaint, 6> kConditionTaints = {{
    {kReady, "False", api::kNotReadyTaint},
    {kReady, "Unknown", api::kUnreachableTaint},
    {"MemoryPressure", "True", "node.kubernetes.io/memory-pressure"},
    {"DiskPressure", "True", "node.kubernetes.io/disk-pressure"},
    {"PIDPressure", "True", "node.kubernetes.io/pid-pressure"},
    {"NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"},
}};

using TaintName = std::pair<std::string_view, std::string_view>;  // key and effect

bool is_ours(const api::Taint& taint) {
  if (taint.effect == api::kNoExecute)
    return taint.key == api::kNotReadyTaint || taint.key == api::kUnreachableTaint;
  return taint.effect == api::kNoSchedule &&
         (taint.key == api::kUnschedulableTaint ||
          std::ranges::any_of(kConditionTaints,
                              [&](const ConditionTaint& row) { return row.key == taint.key; }));
}

std::string_view status_of_condition(const api::Node& node, std::string_view type) {
  const api::Condition* condition = api::find_condition(node.conditions, type);
  return condition ? std::string_view(condition->status) : std::string_view();
}

std::set<TaintName> scheduling_taints(const api::Node& node) {
  std::set<TaintName> wanted;
  for (const ConditionTaint& row : kConditionTaints)
    if (status_of_condition(node, row.type) == row.status) wanted.insert({row.key, api::kNoSchedule});
  if (node.unschedulable) wanted.insert({api::kUnschedulableTaint, api::kNoSchedule});
  return wanted;
}

// Of the taint NoExecute that the condition Ready asks for; empty: of none.
std::string_view evicting_key(const api::Node& node) {
  const std::string_view ready = status_of_condition(node, kReady);
  return ready == "False" ? api::kNotReadyTaint : ready == "Unknown" ? api::kUnreachableTaint : "";
}

bool has_evicting_taint(const api::Node& node) {
  return std::ranges::any_of(
      node.taints, [](const api::Taint& taint) { return taint.effect == api::kNoExecute && is_ours(taint); });
}

Json taint_json(const api::Taint& taint) {
  Json json = Json::object({{"key", taint.key}, {"effect", taint.effect}});
  if (!taint.value.empty()) json["value"] = taint.value;
  if (taint.added.is_set()) json["timeAdded"] = format_time(taint.added);
  return json;
}

// The node's taints with exactly these of ours, null for none; nothing: they are there already.
std::optional<Json> taints_with(const api::Node& node, std::set<TaintName> wanted, Time now) {
  JsonArray taints;
  bool changed = false;
  for (const api::Taint& taint : node.taints) {
    if (is_ours(taint) && wanted.erase({taint.key, taint.effect}) == 0)
      changed = true;
    else
      taints.push_back(taint_json(taint));
  }
  for (const auto& [key, effect] : wanted)
    taints.push_back(taint_json({std::string(key), "", std::string(effect), now}));
  if (!changed && wanted.empty()) return std::nullopt;
  return taints.empty() ? Json() : Json(std::move(taints));
}

std::string zone_of(const api::Node& node) {
  const auto label = [&](std::string_view key) {
    const auto found = node.meta.labels.find(key);
    return found == node.meta.labels.end() ? std::string() : found->second;
  };
  return label(api::kRegionLabel) + "/" + label(api::kZoneLabel);
}

// Conditions that say Unknown, of those that do not say it yet.
std::vector<api::Condition> unknown_conditions(const api::Node& node, Time now) {
  std::vector<api::Condition> unknown;
  for (const std::string_view type : kKubeletConditions) {
    const api::Condition* shown = api::find_condition(node.conditions, type);
    if (shown && shown->status == "Unknown") continue;
    unknown.push_back({std::string(type), "Unknown", shown ? "NodeStatusUnknown" : "NodeStatusNeverUpdated",
                       shown ? "Kubelet stopped posting node status." : "Kubelet never posted node status.",
                       now, 0});
  }
  return unknown;
}

// Nodes of one zone that say whether they are ready, and how fast their pods may be evicted.
class Zone {
 public:
  bool empty() const { return ready_ + not_ready_ == 0; }
  bool is_down() const { return ready_ == 0 && not_ready_ > 0; }
  void count(bool ready, bool add) {
    std::size_t& counted = ready ? ready_ : not_ready_;
    counted = add ? counted + 1 : counted - 1;
  }
  // Between two nodes whose pods are evicted; nothing: none is.
  std::optional<Duration> pause() const {
    const std::size_t nodes = ready_ + not_ready_;
    const bool unhealthy = not_ready_ >= kUnhealthyMin && not_ready_ * 100 >= kUnhealthyPercent * nodes;
    if (!unhealthy || is_down()) return kEvictEvery;
    if (nodes > kLargeZone) return kEvictEverySecondary;
    return std::nullopt;
  }
  // Takes the next turn if it has come.
  bool take_turn(Time now) {
    const std::optional<Duration> pause = this->pause();
    if (!pause || (latest_.is_set() && now - latest_ < *pause)) return false;
    latest_ = now;
    return true;
  }

 private:
  std::size_t ready_ = 0, not_ready_ = 0;
  Time latest_;  // turn
};

class NodeLifecycle final : public client::Reconciler {
 public:
  std::string_view name() const override { return "node-lifecycle"; }

  std::vector<client::Interest> interests() const override {
    return {client::itself(Kind::Node),
            {Kind::Lease,
             {},
             [](const View&, const Delta& delta, Keys& keys) {
               if (delta.key.ns == kNodeLeaseNamespace) keys.push_back({Kind::Node, "", delta.key.name, {}});
             }},
            {Kind::Pod, {}, [](const View& view, const Delta& delta, Keys& keys) {
               const auto* pod = client::object_of<api::Pod>(delta.after);
               const api::Node* node = pod && pod->bound() ? view.nodes.find("", pod->node_name) : nullptr;
               if (node && status_of_condition(*node, kReady) == "Unknown")
                 keys.push_back(client::key_of(Kind::Node, node->meta));
             }}};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    const api::Node* node = view.nodes.find("", key.name);
    const auto known = nodes_.find(key.name);
    if (known != nodes_.end() && (!node || known->second.uid != node->meta.uid)) forget(known);
    if (!node) return Effects::nothing();
    WatchedNode& watched = nodes_[key.name];
    watched.uid = node->meta.uid;
    Effects effects;
    note_readiness(key, *node, watched, now, effects);
    const api::Lease* lease = view.leases.find(kNodeLeaseNamespace, key.name);
    if (lease && watch(*lease, watched, now, effects))
      if (const auto unknown = unknown_conditions(*node, now); !unknown.empty()) {
        effects.chains.push_back({key, {client::conditions_patch(key, node->meta, unknown)}});
        return effects;
      }
    // A Node object alone keeps the taint that it was created with: no kubelet has said anything yet.
    if (!lease && status_of_condition(*node, kReady).empty()) return effects;
    std::set<TaintName> wanted = scheduling_taints(*node);
    if (may_evict(*node, watched, now, effects)) wanted.insert({evicting_key(*node), api::kNoExecute});
    if (std::optional<Json> taints = taints_with(*node, std::move(wanted), now))
      effects.chains.push_back(
          {key,
           {client::merge_patch(key, Json::object({{"spec", Json::object({{"taints", *std::move(taints)}})}}),
                                node->meta.uid, node->meta.resource_version)}});
    mark_pods(view, *node, now, effects);
    return effects;
  }

 private:
  struct WatchedNode {
    std::string uid;
    Time renewed, seen;         // the latest renewal, and when it was seen: the clocks of nodes do not count
    std::string zone;           // that counts it
    std::optional<bool> ready;  // as counted; nothing: the node does not say
    Time changed;               // when that was seen
    bool has_turn = false;      // to have its pods evicted
  };
  using Nodes = std::map<std::string, WatchedNode>;

  void count(const WatchedNode& watched, bool add) {
    if (!watched.ready) return;
    Zone& zone = zones_[watched.zone];
    zone.count(*watched.ready, add);
    if (zone.empty()) zones_.erase(watched.zone);
  }

  void forget(Nodes::iterator watched) {
    count(watched->second, false);
    nodes_.erase(watched);
  }

  void note_readiness(const api::ObjectKey& key, const api::Node& node, WatchedNode& watched, Time now,
                      Effects& effects) {
    const std::string_view status = status_of_condition(node, kReady);
    const WatchedNode before = watched;
    watched.zone = zone_of(node);
    watched.ready = status.empty() ? std::nullopt : std::optional(status == "True");
    count(watched, true);
    count(before, false);
    if (watched.ready != before.ready) watched.changed = now;
    if (!before.ready.value_or(false) || watched.ready.value_or(true)) return;
    client::EventNote note{
        key, node.meta.uid, false, "NodeNotReady", "", "Node " + key.name + " status is now: NodeNotReady"};
    note.component = kNodeControllerComponent;
    effects.events.push_back(std::move(note));
  }

  // Whether nobody has renewed the lease for too long. A lease that lasts longer is given its own time.
  static bool watch(const api::Lease& lease, WatchedNode& watched, Time now, Effects& effects) {
    if (!watched.seen.is_set() || watched.renewed != lease.renewed) {
      watched.renewed = lease.renewed;
      watched.seen = now;
    }
    const Time silent_at = watched.seen + std::max(kMonitorGrace, Duration::seconds(lease.duration_s));
    if (now >= silent_at) return true;
    effects.wake_at = silent_at;
    return false;
  }

  bool all_zones_are_down() const {
    return std::ranges::all_of(zones_, [](const auto& zone) { return zone.second.is_down(); });
  }

  // Where every zone is down, this process may be the one that is cut off: nobody is evicted. Nodes that fail
  // together are all counted before the first has its turn.
  bool may_evict(const api::Node& node, WatchedNode& watched, Time now, Effects& effects) {
    if (evicting_key(node).empty()) return watched.has_turn = false;
    const bool counted = now - watched.changed >= kMonitorPeriod;
    if (all_zones_are_down())
      watched.has_turn = false;
    else if (watched.has_turn || has_evicting_taint(node) || (counted && zones_[watched.zone].take_turn(now)))
      return watched.has_turn = true;
    const Time again = counted ? now + kMonitorPeriod : watched.changed + kMonitorPeriod;
    effects.wake_at = effects.wake_at ? std::min(*effects.wake_at, again) : again;
    return false;
  }

  // Nobody else says of the pods of a silent node that they are not ready.
  static void mark_pods(const View& view, const api::Node& node, Time now, Effects& effects) {
    if (status_of_condition(node, kReady) != "Unknown") return;
    for (const api::Pod* pod : view.pods_on_node(node.meta.name)) {
      const api::Condition* ready = api::find_condition(pod->conditions, kReady);
      if (!ready || ready->status != "True") continue;
      if (effects.chains.size() >= kPodsMarkedPerRunMax) return;
      const api::ObjectKey key = client::key_of(Kind::Pod, pod->meta);
      Json condition =
          Json::object({{"type", kReady}, {"status", "False"}, {"lastTransitionTime", format_time(now)}});
      effects.chains.push_back(
          {key,
           {patch_status(key, Json::object({{"conditions", Json::array({std::move(condition)})}}),
                         pod->meta.uid, pod->meta.resource_version)}});
      client::EventNote note{key, pod->meta.uid, true, "NodeNotReady", "", "Node is not ready"};
      note.component = kNodeControllerComponent;
      effects.events.push_back(std::move(note));
    }
  }

  Nodes nodes_;
  std::map<std::string, Zone> zones_;  // those that count a node
};

}  // namespace

std::unique_ptr<client::Reconciler> make_node_lifecycle() {
  return std::make_unique<NodeLifecycle>();
}

}  // namespace berth::controllers
