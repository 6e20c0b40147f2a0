// Creates the claims of pods' ephemeral volumes, named `<pod>-<volume>` and owned by the pod, so a lost
// response never creates a second one. Source: the ephemeral volume controller of kube-controller-manager.
#include <algorithm>

#include "api/serialized.h"
#include "controllers/controllers.h"

namespace berth::controllers {
namespace {

class EphemeralVolume final : public client::Reconciler {
 public:
  std::string_view name() const override { return "ephemeral-volume"; }

  std::vector<client::Interest> interests() const override {
    return {client::itself(Kind::Pod),
            {Kind::PersistentVolumeClaim, {}, [](const View& view, const Delta& delta, Keys& keys) {
               if (delta.after) return;
               for (const api::Pod* pod : view.pods_using_volume_claim(delta.key.ns, delta.key.name))
                 keys.push_back(client::key_of(Kind::Pod, pod->meta));
             }}};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time) override {
    const api::Pod* pod = view.pods.find(key.ns, key.name);
    if (!pod || pod->meta.deleting() || pod->finished()) return Effects::nothing();
    const bool lacks_one =
        std::any_of(pod->volumes.begin(), pod->volumes.end(), [&](const api::PodVolume& volume) {
          return volume.ephemeral && !view.volume_claims.find(key.ns, volume.claim_name);
        });
    if (!lacks_one) return Effects::nothing();
    const auto object = api::parse_object(*pod->raw);
    BERTH_ASSERT(object.ok(), "what is in the view was decoded");
    Effects effects;
    for (const Json& claim : api::ephemeral_claim_objects(*object)) {
      const std::string name(claim.part("metadata").string_at("name"));
      if (view.volume_claims.find(key.ns, name)) continue;
      client::Write write = client::create(Kind::PersistentVolumeClaim, key.ns, claim);
      write.fine_reasons = {"AlreadyExists"};
      effects.chains.push_back({{Kind::PersistentVolumeClaim, key.ns, name, {}}, {std::move(write)}});
    }
    return effects;
  }
};

}  // namespace

std::unique_ptr<client::Reconciler> make_ephemeral_volume() {
  return std::make_unique<EphemeralVolume>();
}

}  // namespace berth::controllers
