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

bool has_room(const View& view, const std::string& storage_class, const api::Node& node, Quantity size) {
  const auto capacities = view.capacities_of_class(storage_class);
  return std::any_of(capacities.begin(), capacities.end(), [&](const api::CSIStorageCapacity* capacity) {
    return capacity->largest && *capacity->largest >= size && capacity->nodes &&
           capacity->nodes->matches(node.meta.labels);
  });
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

Provisioning can_provision(const View& view, const PersistentVolumeClaim& claim, const api::Node& node) {
  const api::StorageClass* of = view.storage_classes.find("", claim.traits.storage_class);
  if (!of || of->provisioner.empty() || of->provisioner == api::kNoProvisioner)
    return Provisioning::Impossible;
  if (of->allowed_nodes && !api::matches(*of->allowed_nodes, node.meta.labels, ""))
    return Provisioning::Impossible;
  const api::CSIDriver* driver = view.csi_drivers.find("", of->provisioner);
  if (!claim.request || !driver || !driver->storage_capacity) return Provisioning::Possible;
  return has_room(view, of->meta.name, node, *claim.request) ? Provisioning::Possible
                                                             : Provisioning::NotEnoughSpace;
}

}  // namespace berth::client
