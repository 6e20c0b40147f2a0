// core/v1 PersistentVolumeClaim and PersistentVolume, storage.k8s.io/v1 StorageClass, CSIDriver,
// CSIStorageCapacity, CSINode and VolumeAttachment, as far as placement and binding need them.
#pragma once

#include "api/selectors.h"
#include "api/types/meta.h"

namespace berth::api {

// On a claim: the node for which a volume shall be provisioned; on a claim and its volume: the binding is
// complete, and the binding was chosen by a controller. Source: k8s.io/component-helpers/storage/volume.
inline constexpr std::string_view kSelectedNodeAnnotation = "volume.kubernetes.io/selected-node";
inline constexpr std::string_view kBindCompletedAnnotation = "pv.kubernetes.io/bind-completed";
inline constexpr std::string_view kBoundByControllerAnnotation = "pv.kubernetes.io/bound-by-controller";
inline constexpr std::string_view kProvisionedByAnnotation = "pv.kubernetes.io/provisioned-by";
inline constexpr std::string_view kReadWriteOncePod = "ReadWriteOncePod";
// Finalizers that keep a claim while a pod uses it, a volume while it is bound, and a VolumeAttributesClass
// while either names it. New objects get them. Source: the admission plugin StorageObjectInUseProtection, and
// k8s.io/kubernetes pkg/volume/util.
inline constexpr std::string_view kVolumeClaimProtection = "kubernetes.io/pvc-protection";
inline constexpr std::string_view kVolumeProtection = "kubernetes.io/pv-protection";
inline constexpr std::string_view kAttributesClassProtection = "kubernetes.io/vac-protection";
// spec.provisioner of a class whose volumes are made by hand.
inline constexpr std::string_view kNoProvisioner = "kubernetes.io/no-provisioner";

// What a claim and its volume have in common.
struct VolumeTraits {
  std::string storage_class;  // empty: none
  std::string attributes_class;
  std::string volume_mode = "Filesystem";
  std::vector<std::string> access_modes;
};

struct PersistentVolumeClaim {
  RawPtr raw;
  ObjectMeta meta;
  VolumeTraits traits;
  std::optional<LabelSelector> selector;  // of volumes
  std::optional<Quantity> request;        // bytes
  std::string volume_name;                // spec.volumeName
  std::string phase;
  // The VolumeAttributesClasses of the status: what the volume has, and what it shall get. Empty: none.
  std::string current_attributes_class, target_attributes_class;

  // The controller has completed the binding, in both directions.
  bool bound() const { return !volume_name.empty() && meta.annotations.contains(kBindCompletedAnnotation); }
  std::string_view selected_node() const { return meta.annotation(kSelectedNodeAnnotation); }
  bool has_access_mode(std::string_view mode) const;
};

struct VolumeClaimRef {
  std::string ns;
  std::string name;
  std::string uid;  // empty: reserved by hand for a claim of this name
};

struct PersistentVolume {
  RawPtr raw;
  ObjectMeta meta;
  VolumeTraits traits;
  Quantity capacity;  // bytes
  std::optional<VolumeClaimRef> claim_ref;
  std::optional<NodeSelector> node_affinity;  // required
  std::string reclaim_policy;                 // Delete, Retain, Recycle
  std::string phase;
  std::string csi_driver, csi_handle;  // spec.csi: driver and volumeHandle; empty: another kind of volume

  // No claim has it. An empty phase is that of a volume that no controller has seen yet.
  bool available() const { return phase.empty() || phase == "Available"; }
};

struct StorageClass {
  RawPtr raw;
  ObjectMeta meta;
  std::string provisioner;
  StringMap parameters;
  std::string reclaim_policy;
  bool waits_for_consumer = false;            // volumeBindingMode WaitForFirstConsumer
  std::optional<NodeSelector> allowed_nodes;  // allowedTopologies; none: every node
};

struct CSIDriver {
  RawPtr raw;
  ObjectMeta meta;
  bool storage_capacity = false;   // publishes CSIStorageCapacity objects
  bool needs_node_plugin = false;  // preventPodSchedulingIfMissing
};

struct CSIStorageCapacity {
  RawPtr raw;
  ObjectMeta meta;
  std::string storage_class;
  std::optional<LabelSelector> nodes;  // nodeTopology; none: no node has access
  std::optional<Quantity> largest;     // maximumVolumeSize, else capacity; bytes
  Quantity capacity;
};

struct CSINodeDriver {
  std::string name;
  std::optional<std::int64_t> volumes_max;  // allocatable.count; none: no limit
};

// Of the node of its name: the drivers that are installed there.
struct CSINode {
  RawPtr raw;
  ObjectMeta meta;
  std::vector<CSINodeDriver> drivers;
};

// A volume that is, or shall be, attached to a node.
struct VolumeAttachment {
  RawPtr raw;
  ObjectMeta meta;
  std::string attacher;  // the CSI driver
  std::string node;
  std::string volume;  // a PersistentVolume; empty: an inline one
};

PersistentVolumeClaim decode_persistent_volume_claim(const Json& object, RawPtr raw);
PersistentVolume decode_persistent_volume(const Json& object, RawPtr raw);
StorageClass decode_storage_class(const Json& object, RawPtr raw);
CSIDriver decode_csi_driver(const Json& object, RawPtr raw);
CSIStorageCapacity decode_csi_storage_capacity(const Json& object, RawPtr raw);
CSINode decode_csi_node(const Json& object, RawPtr raw);
VolumeAttachment decode_volume_attachment(const Json& object, RawPtr raw);

// spec.claimRef names the claim, by hand or with its UID.
bool is_for(const PersistentVolume& volume, const PersistentVolumeClaim& claim);
// The volume can be used on a node with these labels.
bool reaches(const PersistentVolume& volume, const StringMap& node_labels);
// The claims of the pod's ephemeral volumes, as creates: named `<pod>-<volume>`, owned by the pod. The pod as
// its API object.
std::vector<Json> ephemeral_claim_objects(const Json& pod);
// spec.claimRef of a volume that is bound to the claim.
Json claim_ref_json(const PersistentVolumeClaim& claim);

}  // namespace berth::api
