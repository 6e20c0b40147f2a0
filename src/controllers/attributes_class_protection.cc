// A VolumeAttributesClass that is deleted stays, with its finalizer, while the spec of a volume or a claim,
// or the status of a claim, names it. Source: the VAC protection controller of kube-controller-manager 1.37.
#include <algorithm>

#include "controllers/controllers.h"
#include "controllers/patches.h"
#include "workloads/objects.h"

namespace berth::controllers {
namespace {

using api::PersistentVolume;
using api::PersistentVolumeClaim;

const api::ResourceRef& attributes_classes() {
  static const api::ResourceRef kRef{"storage.k8s.io", "v1", "volumeattributesclasses"};
  return kRef;
}

void wake_class(const std::string& name, Keys& keys) {
  if (!name.empty()) keys.push_back(workloads::key_in(attributes_classes(), "", name));
}

// Those that an object named before a change: it may have been the last one.
void wake_classes_of_claim(const View&, const Delta& delta, Keys& keys) {
  const auto* const claim = client::object_of<PersistentVolumeClaim>(delta.before);
  if (!claim) return;
  wake_class(claim->traits.attributes_class, keys);
  wake_class(claim->current_attributes_class, keys);
  wake_class(claim->target_attributes_class, keys);
}

void wake_class_of_volume(const View&, const Delta& delta, Keys& keys) {
  if (const auto* const volume = client::object_of<PersistentVolume>(delta.before))
    wake_class(volume->traits.attributes_class, keys);
}

// Cost: O(claims + volumes), once a class is deleted.
bool is_named(const View& view, const std::string& name) {
  const auto& claims = view.volume_claims.all();
  const auto& volumes = view.volumes.all();
  return std::any_of(claims.begin(), claims.end(),
                     [&](const auto& entry) {
                       const PersistentVolumeClaim& claim = *entry.second;
                       return claim.traits.attributes_class == name ||
                              claim.current_attributes_class == name || claim.target_attributes_class == name;
                     }) ||
         std::any_of(volumes.begin(), volumes.end(),
                     [&](const auto& entry) { return entry.second->traits.attributes_class == name; });
}

class AttributesClassProtection final : public client::Reconciler {
 public:
  std::string_view name() const override { return "attributes-class-protection"; }

  std::vector<client::Interest> interests() const override {
    return {{Kind::Other, attributes_classes(),
             [](const View&, const Delta& delta, Keys& keys) { keys.push_back(delta.key); }},
            {Kind::PersistentVolumeClaim, {}, wake_classes_of_claim},
            {Kind::PersistentVolume, {}, wake_class_of_volume}};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time) override {
    const api::AnyObject* const found = workloads::find_other(view, key.resource, "", key.name);
    if (!found) return Effects::nothing();
    const bool in_use = found->meta.deleting() && is_named(view, key.name);
    return protect(key, found->meta, api::kAttributesClassProtection, in_use);
  }
};

}  // namespace

std::unique_ptr<client::Reconciler> make_attributes_class_protection() {
  return std::make_unique<AttributesClassProtection>();
}

}  // namespace berth::controllers
