#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "api/evictions.h"
#include "controllers/controllers.h"
#include "controllers/patches.h"

namespace berth::controllers {

namespace {

// How long a node must be absent before its living pods are deleted; as in kube-controller-manager's pod GC.
constexpr Duration kNodeAwayMax = Duration::seconds(40);

constexpr std::size_t kEndedPodsPerRunMax = 500;  // the next run goes on
// Stands for all pods that have ended.
const api::ObjectKey& key_of_ended_pods() {
  static const api::ObjectKey kKey{Kind::Pod, "", "", {}};
  return kKey;
}

class PodGc final : public client::Reconciler {
 public:
  std::string_view name() const override { return "pod-gc"; }

  std::vector<client::Interest> interests() const override {
    return {{Kind::Pod,
             {},
             [this](const View&, const Delta& delta, Keys& keys) {
               keys.push_back(delta.key);
               note_ended(delta);
               if (ended_.size() > kEndedPodsMax) keys.push_back(key_of_ended_pods());
             }},
            {Kind::Node, {}, [](const View& view, const Delta& delta, Keys& keys) {
               if (delta.before && delta.after) return;
               for (const api::Pod* pod : view.pods_on_node(delta.key.name))
                 keys.push_back(client::key_of(Kind::Pod, pod->meta));
             }}};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    if (key == key_of_ended_pods()) return remove_oldest(view);
    const api::Pod* pod = view.pods.find(key.ns, key.name);
    const bool away = pod && pod->bound() && !view.nodes.find("", pod->node_name);
    if (!away) away_since_.erase(key);
    // One that was never bound waits for finalizers alone.
    if (pod && !pod->bound() && pod->meta.deleting()) return end(key, *pod, std::nullopt);
    if (!away) return Effects::nothing();
    const Time since = away_since_.try_emplace(key, now).first->second;
    if (pod->meta.deleting() || now - since >= kNodeAwayMax)
      return end(key, *pod,
                 api::Condition{std::string(api::kDisruptionTarget), "True",
                                std::string(api::kDeletionByPodGc), "PodGC: node no longer exists", now, 0});
    Effects effects;
    effects.wake_at = since + kNodeAwayMax;
    return effects;
  }

 private:
  using Ended = std::pair<Time, client::NamedKey>;  // when it was created, and which

  static std::optional<Ended> ended(const std::optional<api::TypedObject>& object) {
    const auto* pod = client::object_of<api::Pod>(object);
    if (!pod || !pod->finished() || pod->meta.deleting()) return std::nullopt;
    return Ended(pod->meta.created, {pod->meta.ns, pod->meta.name});
  }

  void note_ended(const Delta& delta) const {
    if (const auto before = ended(delta.before)) ended_.erase(*before);
    if (auto after = ended(delta.after)) ended_.insert(*std::move(after));
  }

  Effects remove_oldest(const View& view) const {
    Effects effects;
    std::size_t surplus = ended_.size() - std::min(ended_.size(), kEndedPodsMax);
    for (const auto& [created, name] : ended_) {
      if (surplus-- == 0 || effects.chains.size() == kEndedPodsPerRunMax) break;
      const api::Pod* pod = view.pods.find(name.ns, name.name);
      if (!pod) continue;
      const api::ObjectKey key = client::key_of(Kind::Pod, pod->meta);
      effects.chains.push_back({key, {client::delete_object(key, pod->meta.uid, 0)}});
    }
    return effects;
  }

  // No kubelet writes the phase, for which whoever holds the pod by a finalizer waits. With a condition the
  // node is absent from the view, whose watch may be behind, so it is read first.
  static Effects end(const api::ObjectKey& key, const api::Pod& pod,
                     const std::optional<api::Condition>& condition) {
    const bool deletes = !pod.meta.deleting() || pod.meta.deletion_grace_s.value_or(0) > 0;
    if (pod.finished() && !deletes) return Effects::nothing();
    Effects effects;
    effects.chains.push_back({key, {}});
    if (condition) effects.then(unless_exists({Kind::Node, "", pod.node_name, {}}, client::kAnyUid));
    if (!pod.finished()) {
      Json status = condition ? with_condition(pod, *condition) : Json::object();
      status["phase"] = "Failed";
      effects.then(patch_status(key, std::move(status), pod.meta.uid, pod.meta.resource_version));
    }
    // With grace 0 it only waits for finalizers of others.
    if (deletes) effects.then(client::delete_object(key, pod.meta.uid, 0));
    return effects;
  }

  // That are not being deleted, the oldest first. Changed by the interests, once per change.
  mutable std::set<Ended> ended_;
  std::map<api::ObjectKey, Time> away_since_;  // bound pods whose node is absent
};

}  // namespace

std::unique_ptr<client::Reconciler> make_pod_gc() {
  return std::make_unique<PodGc>();
}

}  // namespace berth::controllers
