#include "client/volumes.h"

#include <algorithm>

namespace berth::client {
namespace {

using api::PersistentVolume;
using api::PersistentVolumeClaim;

bool is_owned_by(const PersistentVolumeClaim& claim, const api::Pod& pod) {
  const api::OwnerReference* owner = claim.meta.controller();
  return owner && owner->uid == pod.meta.uid;
}

PodVolumeClaims problem_of(const View& view, const api::Pod& pod, const api::PodVolume& volume) {
  const std::string& name = volume.claim_name;
  const PersistentVolumeClaim* claim = view.volume_claims.find(pod.meta.ns, name);
  if (!claim) return {volume.ephemeral ? ClaimProblem::NotMadeYet : ClaimProblem::NotFound, name, "", {}, {}};
  if (claim->phase == "Lost") return {ClaimProblem::Lost, name, claim->volume_name, {}, {}};
  if (claim->meta.deleting()) return {ClaimProblem::Deleting, name, "", {}, {}};
  if (volume.ephemeral && !is_owned_by(*claim, pod))
    return {ClaimProblem::NotOwned, pod.meta.ns + "/" + name, pod.meta.ns + "/" + pod.meta.name, {}, {}};
  return {};
}

Quantity requested(const PersistentVolumeClaim& claim) {
  return claim.request.value_or(Quantity());
}

bool is_subset(const std::vector<std::string>& wanted, const std::vector<std::string>& offered) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& one) {
    return std::find(offered.begin(), offered.end(), one) != offered.end();
  });
}

// What holds for a volume that is reserved for the claim, too.
bool can_serve(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return volume.capacity >= requested(claim) && volume.traits.volume_mode == claim.traits.volume_mode &&
         volume.traits.attributes_class == claim.traits.attributes_class && !volume.meta.deleting();
}

bool is_free_for(const View& view, const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return !volume.claim_ref && volume.available() &&
         (!claim.selector || claim.selector->matches(volume.meta.labels)) &&
         is_subset(claim.traits.access_modes, volume.traits.access_modes) &&
         view.claims_of_volume(volume.meta.name).empty();
}

// Of an empty driver: none.
CsiVolume csi_volume_of(const View& view, const PersistentVolumeClaim& claim) {
  const PersistentVolume* volume =
      claim.volume_name.empty() ? nullptr : view.volumes.find("", claim.volume_name);
  if (volume) return {volume->csi_driver, volume->csi_handle, ""};
  const api::StorageClass* of = view.storage_classes.find("", claim.traits.storage_class);
  return {of ? of->provisioner : std::string(), "", claim.meta.ns + "/" + claim.meta.name};
}

}  // namespace

void add_csi_volumes_of(const View& view, const api::Pod& pod, std::set<CsiVolume>& volumes) {
  for (const api::PodVolume& volume : pod.volumes) {
    const PersistentVolumeClaim* claim = view.volume_claims.find(pod.meta.ns, volume.claim_name);
    if (!claim || (volume.ephemeral && !is_owned_by(*claim, pod))) continue;
    if (CsiVolume found = csi_volume_of(view, *claim); !found.driver.empty())
      volumes.insert(std::move(found));
  }
}

bool waits_for_consumer(const View& view, const PersistentVolumeClaim& claim) {
  const api::StorageClass* of = view.storage_classes.find("", claim.traits.storage_class);
  return of && of->waits_for_consumer;
}

PodVolumeClaims volume_claims_of(const View& view, const api::Pod& pod) {
  for (const api::PodVolume& volume : pod.volumes)
    if (PodVolumeClaims found = problem_of(view, pod, volume); found.problem != ClaimProblem::None)
      return found;
  PodVolumeClaims claims;
  for (const api::PodVolume& volume : pod.volumes) {
    const PersistentVolumeClaim* claim = view.volume_claims.find(pod.meta.ns, volume.claim_name);
    auto& list = claim->bound() ? claims.bound : claims.delayed;
    if (std::find(list.begin(), list.end(), claim) != list.end()) continue;
    list.push_back(claim);
    const bool delayed = claim->volume_name.empty() && waits_for_consumer(view, *claim);
    if (!claim->bound() && !delayed) claims.problem = ClaimProblem::Unbound;
  }
  std::stable_sort(claims.delayed.begin(), claims.delayed.end(),
                   [](const auto* a, const auto* b) { return requested(*a) < requested(*b); });
  return claims;
}

std::vector<const PersistentVolume*> volumes_for(const View& view, const PersistentVolumeClaim& claim,
                                                 const IsTaken& is_taken) {
  std::vector<const PersistentVolume*> found;
  for (const PersistentVolume* volume : view.volumes_of_class(claim.traits.storage_class)) {
    if (!can_serve(*volume, claim)) continue;
    if (api::is_for(*volume, claim)) return {volume};
    if (is_free_for(view, *volume, claim) && !is_taken(*volume)) found.push_back(volume);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto* a, const auto* b) { return a->capacity < b->capacity; });
  return found;
}

Provisioner::Provisioner(const View& view, const PersistentVolumeClaim& claim) {
  const api::StorageClass* of = view.storage_classes.find("", claim.traits.storage_class);
  if (!of || of->provisioner.empty() || of->provisioner == api::kNoProvisioner) return;
  class_ = of;
  const api::CSIDriver* driver = view.csi_drivers.find("", of->provisioner);
  is_published_ = claim.request && driver && driver->storage_capacity;
  if (!is_published_) return;
  for (const api::CSIStorageCapacity* capacity : view.capacities_of_class(of->meta.name)) {
    if (!capacity->largest || *capacity->largest < *claim.request || !capacity->nodes) continue;
    const auto& asked = capacity->nodes->requirements();
    const auto label = std::ranges::find(asked, api::LabelOperator::In, &api::LabelRequirement::op);
    if (label == asked.end())
      capacities_.add(capacity);
    else
      capacities_.add(capacity, label->key, label->values);
  }
}

Provisioner::Answer Provisioner::ask(const api::Node& node) const {
  if (!class_ || (class_->allowed_nodes && !api::matches(*class_->allowed_nodes, node.meta.labels, "")))
    return {};
  if (!is_published_) return {Provisioning::Possible};
  const auto* from = capacities_.first(node.meta.labels, [&](const api::CSIStorageCapacity& capacity) {
    return capacity.nodes->matches(node.meta.labels);
  });
  return {from ? Provisioning::Possible : Provisioning::NotEnoughSpace, from};
}

}  // namespace berth::client
