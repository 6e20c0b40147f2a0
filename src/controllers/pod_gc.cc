#include <map>

#include "controllers/controllers.h"
#include "controllers/simulated.h"

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
    const api::Node* node = pod && pod->bound() ? view.nodes.find("", pod->node_name) : nullptr;
    const bool away = pod && pod->bound() && !node;
    if (!away) away_since_.erase(key);
    if (!pod || !pod->bound()) return Effects::nothing();
    // With grace 0 it only waits for finalizers of others.
    const bool ending = pod->meta.deleting() && pod->meta.deletion_grace_s.value_or(0) > 0;
    if (ending && (away || is_simulated(*node))) return Effects::write(key, end_now(key, *pod));
    if (!away || pod->meta.deleting()) return Effects::nothing();
    const Time since = away_since_.try_emplace(key, now).first->second;
    if (now - since >= kNodeAwayMax) return Effects::write(key, end_now(key, *pod));
    Effects effects;
    effects.wake_at = since + kNodeAwayMax;
    return effects;
  }

 private:
  static client::Write end_now(const api::ObjectKey& key, const api::Pod& pod) {
    return client::delete_object(key, pod.meta.uid, 0);
  }

  std::map<api::ObjectKey, Time> away_since_;  // bound pods whose node is absent
};

}  // namespace

std::unique_ptr<client::Reconciler> make_pod_gc() {
  return std::make_unique<PodGc>();
}

}  // namespace berth::controllers
