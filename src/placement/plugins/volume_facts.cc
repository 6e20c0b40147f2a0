#include "placement/plugins/volume_facts.h"

#include <algorithm>

#include "client/volumes.h"

namespace berth::placement::plugins {
namespace {

using api::CSINodeDriver;
using api::Kind;

FactId storage_class_changed(std::string_view name) {
  return fact_id({"storage class", name});
}
FactId driver_changed(std::string_view name) {
  return fact_id({"CSI driver", name});
}
// The amount: its bytes.
FactId volume_of(std::string_view storage_class) {
  return fact_id({"volume of", storage_class});
}
FactId capacity_of(std::string_view storage_class) {
  return fact_id({"capacity of", storage_class});
}
// A node attaches more, or has fewer, of the driver's.
FactId attaches(std::string_view driver) {
  return fact_id({"attaches", driver});
}

// Both sides of a change, each null where it is not there.
template <class T>
struct BothSides {
  explicit BothSides(const client::Delta& delta)
      : before(client::object_of<T>(delta.before)), after(client::object_of<T>(delta.after)) {}
  // The object is gone, or another one with its name is there.
  bool is_gone() const { return before && (!after || before->meta.uid != after->meta.uid); }
  const T *before, *after;
};

bool lost_its_volume(const BothSides<api::PersistentVolumeClaim>& claim) {
  return claim.is_gone() || (claim.before && claim.before->volume_name != claim.after->volume_name);
}

void add_claim(const ClusterChange& change, ChangeFacts& facts) {
  const BothSides<api::PersistentVolumeClaim> claim(*change.object);
  if (!lost_its_volume(claim)) return;
  // One that it named, or that a decision has chosen for it.
  facts.add(volume_of(claim.before->traits.storage_class));
  if (const auto* volume = change.view.volumes.find("", claim.before->volume_name))
    facts.add(volume_of(volume->traits.storage_class));
}

void add_volume(const client::Delta& delta, ChangeFacts& facts) {
  const auto* volume = client::object_of<api::PersistentVolume>(delta.after);
  if (volume && !volume->claim_ref)
    facts.add(volume_of(volume->traits.storage_class), volume->capacity.ceil_units());
}

void add_capacity(const client::Delta& delta, ChangeFacts& facts) {
  const auto* capacity = client::object_of<api::CSIStorageCapacity>(delta.after);
  if (capacity && capacity->largest)
    facts.add(capacity_of(capacity->storage_class), capacity->largest->ceil_units());
}

void add_provisioner(const client::View& view, std::string_view storage_class, ChangeFacts& facts) {
  if (const auto* of = view.storage_classes.find("", storage_class)) facts.add(attaches(of->provisioner));
}

// The driver of the claim's volume, or of its class as long as it has none.
void add_attached(const client::View& view, const api::PersistentVolumeClaim& claim, ChangeFacts& facts) {
  if (const auto* volume = view.volumes.find("", claim.volume_name)) facts.add(attaches(volume->csi_driver));
  add_provisioner(view, claim.traits.storage_class, facts);
}

void add_attached_volume(const ClusterChange& change, ChangeFacts& facts) {
  const BothSides<api::PersistentVolume> volume(*change.object);
  const bool same = volume.before && volume.after && volume.before->csi_driver == volume.after->csi_driver &&
                    volume.before->csi_handle == volume.after->csi_handle;
  if (same) return;
  for (const api::PersistentVolume* side : {volume.before, volume.after})
    if (side) facts.add(attaches(side->csi_driver));
  for (const api::PersistentVolumeClaim* claim : change.view.claims_of_volume(change.object->key.name))
    add_provisioner(change.view, claim->traits.storage_class, facts);
}

const CSINodeDriver* find_driver(const api::CSINode* node, const std::string& name) {
  if (!node) return nullptr;
  const auto found = std::ranges::find(node->drivers, name, &CSINodeDriver::name);
  return found == node->drivers.end() ? nullptr : &*found;
}

void add_csi_node(const client::Delta& delta, ChangeFacts& facts) {
  const BothSides<api::CSINode> node(delta);
  for (const api::CSINode* side : {node.before, node.after}) {
    if (!side) continue;
    for (const CSINodeDriver& driver : side->drivers) {
      const CSINodeDriver *was = find_driver(node.before, driver.name),
                          *is = find_driver(node.after, driver.name);
      if (!was || !is || was->volumes_max != is->volumes_max) facts.add(attaches(driver.name));
    }
  }
}

template <class T, class Fact>
void add_names(const client::Delta& delta, Fact fact, ChangeFacts& facts) {
  const BothSides<T> both(delta);
  for (const T* side : {both.before, both.after})
    if (side) facts.add(fact(*side));
}

}  // namespace

void add_binding_hints(const SchedulingContext& context, const api::Pod& pod, PodHints& hints) {
  for (const api::PodVolume& volume : pod.volumes) {
    const auto* claim = context.view.volume_claims.find(pod.meta.ns, volume.claim_name);
    if (!claim || claim->bound()) continue;
    const std::string& of = claim->traits.storage_class;
    const std::int64_t bytes = claim->request ? claim->request->ceil_units() : 0;
    hints.add(kEventVolumeChanged, {{storage_class_changed(of)}});
    hints.add(kEventVolumeChanged, {{volume_of(of), bytes}});
    hints.add(kEventVolumeChanged, {{capacity_of(of), bytes}});
    if (const auto* storage_class = context.view.storage_classes.find("", of))
      hints.add(kEventVolumeChanged, {{driver_changed(storage_class->provisioner)}});
  }
}

void add_binding_facts(const ClusterChange& change, ChangeFacts& facts) {
  if (change.event != kEventVolumeChanged) return;
  const client::Delta& delta = *change.object;
  if (delta.key.kind == Kind::PersistentVolumeClaim) add_claim(change, facts);
  if (delta.key.kind == Kind::PersistentVolume) add_volume(delta, facts);
  if (delta.key.kind == Kind::CSIStorageCapacity) add_capacity(delta, facts);
  const std::string& name = delta.key.name;
  if (delta.key.kind == Kind::StorageClass) facts.add(storage_class_changed(name));
  if (delta.key.kind == Kind::CSIDriver) facts.add(driver_changed(name));
}

void add_limit_hints(const SchedulingContext& context, const api::Pod& pod, PodHints& hints) {
  constexpr std::uint32_t kEvents = kEventVolumeChanged | kEventPodGone;
  std::set<client::CsiVolume> wanted;
  client::add_csi_volumes_of(context.view, pod, wanted);
  for (const client::CsiVolume& volume : wanted) {
    hints.add(kEvents, {{attaches(volume.driver)}});
    hints.add(kEvents, {{driver_changed(volume.driver)}});
  }
  for (const api::PodVolume& volume : pod.volumes)
    if (const auto* claim = context.view.volume_claims.find(pod.meta.ns, volume.claim_name))
      hints.add(kEvents, {{storage_class_changed(claim->traits.storage_class)}});
}

void add_limit_facts(const ClusterChange& change, ChangeFacts& facts) {
  if (change.event == kEventPodGone && change.pod_before) {
    std::set<client::CsiVolume> left;
    client::add_csi_volumes_of(change.view, *change.pod_before, left);
    for (const client::CsiVolume& volume : left) facts.add(attaches(volume.driver));
  }
  if (change.event != kEventVolumeChanged) return;
  const client::Delta& delta = *change.object;
  if (delta.key.kind == Kind::PersistentVolumeClaim)
    if (const BothSides<api::PersistentVolumeClaim> claim(delta); lost_its_volume(claim))
      add_attached(change.view, *claim.before, facts);
  if (delta.key.kind == Kind::PersistentVolume) add_attached_volume(change, facts);
  if (delta.key.kind == Kind::CSINode) add_csi_node(delta, facts);
  if (delta.key.kind == Kind::CSIDriver) facts.add(driver_changed(delta.key.name));
  if (delta.key.kind == Kind::VolumeAttachment)
    add_names<api::VolumeAttachment>(
        delta, [](const api::VolumeAttachment& one) { return attaches(one.attacher); }, facts);
  if (delta.key.kind != Kind::StorageClass) return;
  facts.add(storage_class_changed(delta.key.name));
  add_names<api::StorageClass>(
      delta, [](const api::StorageClass& one) { return attaches(one.provisioner); }, facts);
}

}  // namespace berth::placement::plugins
