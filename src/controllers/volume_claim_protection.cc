// A PersistentVolumeClaim that is deleted stays, with its finalizer, until no pod uses it. A pod uses it from
// its binding until the pod is gone, also when its containers have ended. Source: the PVC protection
// controller of kube-controller-manager 1.37, which lists the pods once more in place of kBindingGrace.
#include <algorithm>

#include "controllers/controllers.h"
#include "controllers/patches.h"

namespace berth::controllers {
namespace {

using api::PersistentVolumeClaim;

// The watch of pods may be behind that of claims: a pod that a scheduler bound before it saw the deletion is
// seen by then. Pods that do not exist yet are refused such a claim by every scheduler.
constexpr Duration kBindingGrace = Duration::seconds(2);

// Its kubelet has ended it; a finalizer keeps the object.
bool is_shut_down(const api::Pod& pod) {
  return pod.meta.deleting() && (pod.finished() || pod.meta.deletion_grace_s == 0);
}

// Of an ephemeral claim, its own pod alone, until it is shut down: a pod that is deleted in the foreground
// waits for its claims.
bool names(const api::Pod& pod, const PersistentVolumeClaim& claim) {
  const api::OwnerReference* const owner = claim.meta.controller();
  const bool may_be_ephemeral = owner && owner->uid == pod.meta.uid && !is_shut_down(pod);
  return std::any_of(pod.volumes.begin(), pod.volumes.end(), [&](const api::PodVolume& volume) {
    return volume.claim_name == claim.meta.name && (!volume.ephemeral || may_be_ephemeral);
  });
}

void wake_deleted_claims_of(const View& view, const api::Pod* pod, Keys& keys) {
  if (!pod) return;
  for (const api::PodVolume& volume : pod->volumes)
    if (const auto* claim = view.volume_claims.find(pod->meta.ns, volume.claim_name);
        claim && claim->meta.deleting())
      keys.push_back(client::key_of(Kind::PersistentVolumeClaim, claim->meta));
}

class VolumeClaimProtection final : public client::Reconciler {
 public:
  std::string_view name() const override { return "volume-claim-protection"; }

  std::vector<client::Interest> interests() const override {
    return {client::itself(Kind::PersistentVolumeClaim),
            {Kind::Pod, {}, [](const View& view, const Delta& delta, Keys& keys) {
               wake_deleted_claims_of(view, client::object_of<api::Pod>(delta.before), keys);
               wake_deleted_claims_of(view, client::object_of<api::Pod>(delta.after), keys);
             }}};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    const PersistentVolumeClaim* const claim = view.volume_claims.find(key.ns, key.name);
    if (!claim) return Effects::nothing();
    if (!claim->meta.deleting()) return protect(key, claim->meta, api::kVolumeClaimProtection, false);
    bool may_be_bound = false;
    for (const api::Pod* pod : view.pods_using_volume_claim(key.ns, key.name)) {
      if (!names(*pod, *claim)) continue;
      if (pod->bound()) return Effects::nothing();
      may_be_bound = true;
    }
    if (const Time ends = claim->meta.deleted + kBindingGrace; may_be_bound && now < ends) {
      Effects later;
      later.wake_at = ends;
      return later;
    }
    return protect(key, claim->meta, api::kVolumeClaimProtection, false);
  }
};

}  // namespace

std::unique_ptr<client::Reconciler> make_volume_claim_protection() {
  return std::make_unique<VolumeClaimProtection>();
}

}  // namespace berth::controllers
