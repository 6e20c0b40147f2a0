#include <algorithm>
#include <map>

#include "controllers/controllers.h"
#include "controllers/patches.h"

namespace berth::controllers {

namespace {

constexpr std::string_view kNodeTaintEventReason = "TaintManagerEviction";
constexpr std::string_view kNodeTaintComponent = "taint-eviction-controller";  // in events
// A hundred years: a longer toleration has no end.
constexpr std::int64_t kTaintSecondsMax = 3'153'600'000;

std::vector<api::Taint> evicting_taints(const api::Node* node) {
  std::vector<api::Taint> taints;
  if (!node) return taints;
  for (const api::Taint& taint : node->taints)
    if (taint.effect == api::kNoExecute) taints.push_back(taint);
  return taints;
}

bool evict_alike(const std::vector<api::Taint>& a, const std::vector<api::Taint>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const api::Taint& one, const api::Taint& two) {
    return one.key == two.key && one.value == two.value && one.added == two.added;
  });
}

// How long the pod may stay; nothing when for ever. As in Kubernetes the first toleration that matches a
// taint speaks for it, the shortest of them counts, and one without an end counts only among its like.
std::optional<Duration> stay_of(const api::Pod& pod, const std::vector<api::Taint>& taints) {
  std::optional<std::int64_t> seconds;
  for (const api::Taint& taint : taints) {
    const auto toleration =
        std::find_if(pod.tolerations.begin(), pod.tolerations.end(),
                     [&](const api::Toleration& one) { return api::tolerates(one, taint); });
    if (toleration == pod.tolerations.end()) return Duration();
    if (!toleration->seconds || *toleration->seconds > kTaintSecondsMax) continue;
    const std::int64_t own = std::max<std::int64_t>(0, *toleration->seconds);
    seconds = seconds ? std::min(*seconds, own) : own;
  }
  if (!seconds) return std::nullopt;
  return Duration::seconds(*seconds);
}

// When the pod's time on these taints began, as far as the objects say: the first taint's timeAdded, but not
// before the pod was bound. Without timeAdded it is `now`.
Time started_at(const api::Pod& pod, const std::vector<api::Taint>& taints, Time now) {
  Time start = now;
  for (const api::Taint& taint : taints)
    if (taint.added.is_set()) start = std::min(start, taint.added);
  const api::Condition* scheduled = api::find_condition(pod.conditions, "PodScheduled");
  if (scheduled && scheduled->status == "True" && scheduled->last_transition.is_set())
    start = std::max(start, scheduled->last_transition);
  return std::min(start, now);
}

void on_tolerating_pod(const View&, const Delta& delta, Keys& keys) {
  const auto* before = client::object_of<api::Pod>(delta.before);
  const auto* after = client::object_of<api::Pod>(delta.after);
  const bool same = before && after && before->meta.uid == after->meta.uid &&
                    before->node_name == after->node_name && before->tolerations == after->tolerations &&
                    before->meta.deleting() == after->meta.deleting();
  if (!same) keys.push_back(delta.key);
}

void on_tainted_node(const View& view, const Delta& delta, Keys& keys) {
  const auto* before = client::object_of<api::Node>(delta.before);
  const auto* after = client::object_of<api::Node>(delta.after);
  if (evict_alike(evicting_taints(before), evicting_taints(after))) return;
  for (const api::Pod* pod : view.pods_on_node(delta.key.name))
    keys.push_back(client::key_of(Kind::Pod, pod->meta));
}

class NodeTaintEviction final : public client::Reconciler {
 public:
  std::string_view name() const override { return "node-taint-eviction"; }

  std::vector<client::Interest> interests() const override {
    return {{Kind::Pod, {}, on_tolerating_pod}, {Kind::Node, {}, on_tainted_node}};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    const api::Pod* pod = view.pods.find(key.ns, key.name);
    if (!pod || !pod->bound() || pod->meta.deleting()) {
      waiting_.erase(key);
      return Effects::nothing();
    }
    const std::vector<api::Taint> taints = evicting_taints(view.nodes.find("", pod->node_name));
    const std::optional<Duration> stay = taints.empty() ? std::nullopt : stay_of(*pod, taints);
    if (!stay) return called_off(key, *pod);
    Waiting& waiting = waiting_[key];
    if (waiting.uid != pod->meta.uid) waiting = {pod->meta.uid, started_at(*pod, taints, now)};
    if (now >= waiting.since + *stay) return evict(key, *pod, now);
    Effects effects;
    effects.wake_at = waiting.since + *stay;
    return effects;
  }

 private:
  struct Waiting {
    std::string uid;
    Time since;  // the beginning of its stay
  };

  static client::EventNote event(const api::ObjectKey& key, const api::Pod& pod, std::string_view what) {
    client::EventNote note{key,   pod.meta.uid,
                           false, std::string(kNodeTaintEventReason),
                           "",    std::string(what) + " Pod " + key.ns + "/" + key.name};
    note.component = kNodeTaintComponent;
    return note;
  }

  static Effects evict(const api::ObjectKey& key, const api::Pod& pod, Time now) {
    Effects effects = delete_disrupted(key, pod, "DeletionByTaintManager",
                                       "Taint manager: deleting due to NoExecute taint", now);
    effects.events.push_back(event(key, pod, "Marking for deletion"));
    return effects;
  }

  Effects called_off(const api::ObjectKey& key, const api::Pod& pod) {
    const auto found = waiting_.find(key);
    if (found == waiting_.end()) return Effects::nothing();
    const bool told = found->second.uid == pod.meta.uid;
    waiting_.erase(found);
    Effects effects;
    if (told) effects.events.push_back(event(key, pod, "Cancelling deletion of"));
    return effects;
  }

  std::map<api::ObjectKey, Waiting> waiting_;  // pods whose stay has an end
};

}  // namespace

std::unique_ptr<client::Reconciler> make_node_taint_eviction() {
  return std::make_unique<NodeTaintEviction>();
}

}  // namespace berth::controllers
