// Binds PersistentVolumeClaims and PersistentVolumes to each other: spec.claimRef, phase of the volume,
// spec.volumeName, phase of the claim, one write a run, each on the version that was seen. Claims that wait
// for a consumer are bound once a volume is reserved or provisioned for them. Source: the persistentvolume
// controller of kube-controller-manager.
#include "api/default_storage_class.h"
#include "client/volumes.h"
#include "controllers/controllers.h"
#include "controllers/patches.h"

namespace berth::controllers {
namespace {

using api::PersistentVolume;
using api::PersistentVolumeClaim;

// The volume that the claim is bound to, or shall be; null: none yet.
const PersistentVolume* volume_of(const View& view, const PersistentVolumeClaim& claim) {
  if (!claim.volume_name.empty()) return view.volumes.find("", claim.volume_name);
  for (const PersistentVolume* volume : view.volumes_for_claim(claim.meta.ns, claim.meta.name))
    if (api::is_for(*volume, claim)) return volume;
  if (client::waits_for_consumer(view, claim)) return nullptr;
  const auto free = client::volumes_for(view, claim, [](const PersistentVolume&) { return false; });
  return free.empty() ? nullptr : free.front();
}

client::Write on_seen_version(Kind kind, const api::ObjectMeta& seen, Json patch) {
  return client::merge_patch(client::key_of(kind, seen), std::move(patch), seen.uid, seen.resource_version);
}

client::Write reserve(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  Json patch = Json::object({{"spec", Json::object({{"claimRef", api::claim_ref_json(claim)}})}});
  if (!volume.claim_ref)
    patch["metadata"]["annotations"] =
        Json::object({{std::string(api::kBoundByControllerAnnotation), "yes"}});
  return on_seen_version(Kind::PersistentVolume, volume.meta, std::move(patch));
}

client::Write name_volume(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  Json annotations = Json::object({{std::string(api::kBindCompletedAnnotation), "yes"}});
  if (claim.volume_name.empty()) annotations[std::string(api::kBoundByControllerAnnotation)] = "yes";
  return on_seen_version(Kind::PersistentVolumeClaim, claim.meta,
                         Json::object({{"metadata", Json::object({{"annotations", std::move(annotations)}})},
                                       {"spec", Json::object({{"volumeName", volume.meta.name}})}}));
}

client::Write set_phase(const PersistentVolume& volume, std::string_view phase) {
  return patch_status(client::key_of(Kind::PersistentVolume, volume.meta), Json::object({{"phase", phase}}),
                      volume.meta.uid, volume.meta.resource_version);
}

client::Write claim_is_bound(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  Json status = Json::object({{"phase", "Bound"},
                              {"accessModes", api::to_json(volume.traits.access_modes)},
                              {"capacity", Json::object({{"storage", volume.capacity.text()}})}});
  if (!volume.traits.attributes_class.empty())
    status["currentVolumeAttributesClassName"] = volume.traits.attributes_class;
  return patch_status(client::key_of(Kind::PersistentVolumeClaim, claim.meta), std::move(status),
                      claim.meta.uid, claim.meta.resource_version);
}

// The class that a claim without one gets: the newest default, of several the first by name. Null: the claim
// has one, or there is none. Source: assignDefaultStorageClass of kube-controller-manager.
const api::StorageClass* class_to_give(const View& view, const PersistentVolumeClaim& claim) {
  // An empty name is a choice, too: no class.
  if (!claim.volume_name.empty() || claim.raw->find("\"storageClassName\":") != std::string::npos)
    return nullptr;
  const api::StorageClass* newest = nullptr;
  for (const auto& [key, candidate] : view.storage_classes.all())
    if (candidate->meta.annotation(api::kDefaultStorageClassAnnotation) == "true" &&
        (!newest || candidate->meta.created > newest->meta.created))
      newest = candidate.get();
  return newest;
}

Effects bind(const View& view, const api::ObjectKey& key) {
  const PersistentVolumeClaim* claim = view.volume_claims.find(key.ns, key.name);
  if (!claim || claim->meta.deleting()) return Effects::nothing();
  if (const api::StorageClass* given = class_to_give(view, *claim))
    return Effects::write(
        key,
        on_seen_version(Kind::PersistentVolumeClaim, claim->meta,
                        Json::object({{"spec", Json::object({{"storageClassName", given->meta.name}})}})));
  const PersistentVolume* volume = volume_of(view, *claim);
  if (!volume || (volume->claim_ref && !api::is_for(*volume, *claim))) return Effects::nothing();
  if (!volume->claim_ref || volume->claim_ref->uid.empty())
    return Effects::write(key, reserve(*volume, *claim));
  if (volume->phase != "Bound") return Effects::write(key, set_phase(*volume, "Bound"));
  if (!claim->bound()) return Effects::write(key, name_volume(*volume, *claim));
  if (claim->phase != "Bound") return Effects::write(key, claim_is_bound(*volume, *claim));
  return Effects::nothing();
}

Effects tell_free(const api::ObjectKey& key, const PersistentVolume& volume) {
  if (volume.phase == "Available") return Effects::nothing();
  return Effects::write(key, set_phase(volume, "Available"));
}

// Whether a volume is Bound is its claim's matter; this is about volumes without one.
Effects report(const View& view, const api::ObjectKey& key) {
  const PersistentVolume* volume = view.volumes.find("", key.name);
  if (!volume) return Effects::nothing();
  if (!volume->claim_ref || volume->claim_ref->uid.empty())
    return volume->meta.deleting() ? Effects::nothing() : tell_free(key, *volume);
  const api::VolumeClaimRef& ref = *volume->claim_ref;
  const PersistentVolumeClaim* claim = view.volume_claims.find(ref.ns, ref.name);
  const bool exists = claim && claim->meta.uid == ref.uid;
  if (exists || volume->phase == "Released") return Effects::nothing();
  Effects effects =
      Effects::write(key, unless_exists({Kind::PersistentVolumeClaim, ref.ns, ref.name, {}}, ref.uid));
  effects.then(set_phase(*volume, "Released"));
  return effects;
}

void claim_of(const PersistentVolume* volume, Keys& keys) {
  if (volume && volume->claim_ref)
    keys.push_back({Kind::PersistentVolumeClaim, volume->claim_ref->ns, volume->claim_ref->name, {}});
}

// A free volume may serve any claim of its class that is not bound. Cost: O(claims).
void claims_of_class(const View& view, const PersistentVolume& volume, Keys& keys) {
  for (const auto& [name, claim] : view.volume_claims.all())
    if (claim->volume_name.empty() && claim->traits.storage_class == volume.traits.storage_class)
      keys.push_back(client::key_of(Kind::PersistentVolumeClaim, claim->meta));
}

class PersistentVolumeBinder final : public client::Reconciler {
 public:
  std::string_view name() const override { return "persistent-volume-binder"; }

  std::vector<client::Interest> interests() const override {
    return {{Kind::PersistentVolumeClaim,
             {},
             [](const View& view, const Delta& delta, Keys& keys) {
               keys.push_back(delta.key);
               for (const PersistentVolume* volume : view.volumes_for_claim(delta.key.ns, delta.key.name))
                 keys.push_back(client::key_of(Kind::PersistentVolume, volume->meta));
             }},
            {Kind::PersistentVolume,
             {},
             [](const View& view, const Delta& delta, Keys& keys) {
               keys.push_back(delta.key);
               const auto* after = client::object_of<PersistentVolume>(delta.after);
               claim_of(client::object_of<PersistentVolume>(delta.before), keys);
               claim_of(after, keys);
               if (after && !after->claim_ref) claims_of_class(view, *after, keys);
             }},
            {Kind::StorageClass, {}, [](const View& view, const Delta& delta, Keys& keys) {
               for (const auto& [name, claim] : view.volume_claims.all())
                 if (claim->traits.storage_class.empty() || claim->traits.storage_class == delta.key.name)
                   keys.push_back(client::key_of(Kind::PersistentVolumeClaim, claim->meta));
             }}};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time) override {
    return key.kind == Kind::PersistentVolume ? report(view, key) : bind(view, key);
  }
};

}  // namespace

std::unique_ptr<client::Reconciler> make_persistent_volume_binder() {
  return std::make_unique<PersistentVolumeBinder>();
}

}  // namespace berth::controllers
