#include <algorithm>

#include "controllers/controllers.h"
#include "controllers/patches.h"

namespace berth::controllers {

namespace {

constexpr std::string_view kProtection = "scheduling.k8s.io/podgroup-protection";

const api::Pod* pod_in(const std::optional<api::TypedObject>& object) {
  return object ? std::get<std::shared_ptr<const api::Pod>>(*object).get() : nullptr;
}

class PodGroupProtection final : public client::Reconciler {
 public:
  std::string_view name() const override { return "pod-group-protection"; }

  std::vector<client::Interest> interests() const override {
    return {client::itself(Kind::PodGroup),
            {Kind::Pod, {}, [](const View&, const Delta& delta, std::vector<api::ObjectKey>& keys) {
               const api::Pod* before = pod_in(delta.before);
               const api::Pod* after = pod_in(delta.after);
               if (before && !before->group.empty() && (!after || after->finished()))
                 keys.push_back({Kind::PodGroup, delta.key.ns, before->group, {}});
             }}};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time) override {
    const api::PodGroup* group = view.pod_groups.find(key.ns, key.name);
    if (!group || !group->meta.deleting() || !group->meta.has_finalizer(kProtection))
      return Effects::nothing();
    const auto pods = view.pods_of_group(key.ns, key.name);
    const bool used =
        std::any_of(pods.begin(), pods.end(), [](const api::Pod* pod) { return !pod->finished(); });
    return used ? Effects::nothing() : Effects::write(key, drop_finalizer(key, group->meta, kProtection));
  }
};

}  // namespace

std::unique_ptr<client::Reconciler> make_pod_group_protection() {
  return std::make_unique<PodGroupProtection>();
}

}  // namespace berth::controllers
