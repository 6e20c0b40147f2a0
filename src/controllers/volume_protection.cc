// A PersistentVolume that is deleted stays, with its finalizer, while it is bound: until the claim is gone
// and the binder has written the phase Released. Source: the PV protection controller of
// kube-controller-manager 1.37.
#include "controllers/controllers.h"
#include "controllers/patches.h"

namespace berth::controllers {
namespace {

class VolumeProtection final : public client::Reconciler {
 public:
  std::string_view name() const override { return "volume-protection"; }

  std::vector<client::Interest> interests() const override {
    return {client::itself(Kind::PersistentVolume)};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time) override {
    const api::PersistentVolume* const volume = view.volumes.find("", key.name);
    if (!volume) return Effects::nothing();
    return protect(key, volume->meta, api::kVolumeProtection, volume->phase == "Bound");
  }
};

}  // namespace

std::unique_ptr<client::Reconciler> make_volume_protection() {
  return std::make_unique<VolumeProtection>();
}

}  // namespace berth::controllers
