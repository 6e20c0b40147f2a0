#include <map>
#include <optional>

#include "api/evictions.h"
#include "controllers/controllers.h"
#include "controllers/patches.h"

namespace berth::controllers {

namespace {

// How long a node must be absent before its living pods are deleted; as in kube-controller-manager's pod GC.
constexpr Duration kNodeAwayMax = Duration::seconds(40);

class PodGc final : public client::Reconciler {
 public:
  std::string_view name() const override { return "pod-gc"; }

  std::vector<client::Interest> interests() const override {
    return {{Kind::Pod,
             {},
             [](const View&, const Delta& delta, std::vector<api::ObjectKey>& keys) {
               keys.push_back(delta.key);
             }},
            {Kind::Node, {}, [](const View& view, const Delta& delta, std::vector<api::ObjectKey>& keys) {
               if (delta.before && delta.after) return;
               for (const api::Pod* pod : view.pods_on_node(delta.key.name))
                 keys.push_back(client::key_of(Kind::Pod, pod->meta));
             }}};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
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

  std::map<api::ObjectKey, Time> away_since_;  // bound pods whose node is absent
};

}  // namespace

std::unique_ptr<client::Reconciler> make_pod_gc() {
  return std::make_unique<PodGc>();
}

}  // namespace berth::controllers
