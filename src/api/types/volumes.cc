#include "api/types/volumes.h"

#include <algorithm>

namespace berth::api {
namespace {

constexpr std::string_view kClassAnnotation = "volume.beta.kubernetes.io/storage-class";

VolumeTraits decode_traits(const Json& spec, const ObjectMeta& meta) {
  VolumeTraits traits;
  const std::string_view annotated = meta.annotation(kClassAnnotation);
  traits.storage_class = annotated.empty() ? spec.string_at("storageClassName") : annotated;
  traits.attributes_class = spec.string_at("volumeAttributesClassName");
  if (const std::string_view mode = spec.string_at("volumeMode"); !mode.empty()) traits.volume_mode = mode;
  traits.access_modes = decode_strings(spec.items_at("accessModes"));
  return traits;
}

// The API server has refused selectors that do not parse; such a selector selects nothing.
std::optional<LabelSelector> decode_label_selector(const Json& object, std::string_view field) {
  const Json* found = object.find(field);
  if (!found || found->is_null()) return std::nullopt;
  Result<LabelSelector> selector = LabelSelector::of(*found);
  return selector ? *std::move(selector) : LabelSelector::of(Json()).value();
}

NodeSelector decode_topologies(const JsonArray& terms) {
  NodeSelector selector;
  for (const Json& term : terms) {
    NodeSelectorTerm& decoded = selector.terms.emplace_back();
    for (const Json& one : term.items_at("matchLabelExpressions"))
      decoded.expressions.push_back(
          {std::string(one.string_at("key")), "In", decode_strings(one.items_at("values"))});
  }
  return selector;
}

}  // namespace

bool PersistentVolumeClaim::has_access_mode(std::string_view mode) const {
  return std::find(traits.access_modes.begin(), traits.access_modes.end(), mode) != traits.access_modes.end();
}

PersistentVolumeClaim decode_persistent_volume_claim(const Json& object, RawPtr raw) {
  PersistentVolumeClaim claim = begin_decoded<PersistentVolumeClaim>(object, std::move(raw));
  const Json& spec = object.part("spec");
  claim.traits = decode_traits(spec, claim.meta);
  claim.selector = decode_label_selector(spec, "selector");
  claim.request = decode_quantity(spec.part("resources").part("requests"), "storage");
  claim.volume_name = spec.string_at("volumeName");
  const Json& status = object.part("status");
  claim.phase = status.string_at("phase");
  claim.current_attributes_class = status.string_at("currentVolumeAttributesClassName");
  claim.target_attributes_class =
      status.part("modifyVolumeStatus").string_at("targetVolumeAttributesClassName");
  return claim;
}

PersistentVolume decode_persistent_volume(const Json& object, RawPtr raw) {
  PersistentVolume volume = begin_decoded<PersistentVolume>(object, std::move(raw));
  const Json& spec = object.part("spec");
  volume.traits = decode_traits(spec, volume.meta);
  volume.capacity = decode_quantity(spec.part("capacity"), "storage").value_or(Quantity());
  if (const Json* ref = spec.find("claimRef"); ref && ref->is_object())
    volume.claim_ref = {std::string(ref->string_at("namespace")), std::string(ref->string_at("name")),
                        std::string(ref->string_at("uid"))};
  if (const Json* required = spec.find_path({"nodeAffinity", "required"}))
    volume.node_affinity = decode_node_selector(*required);
  volume.reclaim_policy = spec.string_at("persistentVolumeReclaimPolicy");
  volume.phase = object.part("status").string_at("phase");
  volume.csi_driver = spec.part("csi").string_at("driver");
  volume.csi_handle = spec.part("csi").string_at("volumeHandle");
  return volume;
}

StorageClass decode_storage_class(const Json& object, RawPtr raw) {
  StorageClass decoded = begin_decoded<StorageClass>(object, std::move(raw));
  decoded.provisioner = object.string_at("provisioner");
  decoded.parameters = decode_string_map(object.find("parameters"));
  decoded.reclaim_policy = object.string_at("reclaimPolicy");
  decoded.waits_for_consumer = object.string_at("volumeBindingMode") == "WaitForFirstConsumer";
  if (const JsonArray& terms = object.items_at("allowedTopologies"); !terms.empty())
    decoded.allowed_nodes = decode_topologies(terms);
  return decoded;
}

CSIDriver decode_csi_driver(const Json& object, RawPtr raw) {
  CSIDriver driver = begin_decoded<CSIDriver>(object, std::move(raw));
  driver.storage_capacity = object.part("spec").bool_at("storageCapacity");
  driver.needs_node_plugin = object.part("spec").bool_at("preventPodSchedulingIfMissing");
  return driver;
}

CSIStorageCapacity decode_csi_storage_capacity(const Json& object, RawPtr raw) {
  CSIStorageCapacity capacity = begin_decoded<CSIStorageCapacity>(object, std::move(raw));
  capacity.storage_class = object.string_at("storageClassName");
  capacity.nodes = decode_label_selector(object, "nodeTopology");
  capacity.largest = decode_quantity(object, "maximumVolumeSize");
  const std::optional<Quantity> whole = decode_quantity(object, "capacity");
  if (!capacity.largest) capacity.largest = whole;
  capacity.capacity = whole.value_or(Quantity());
  return capacity;
}

CSINode decode_csi_node(const Json& object, RawPtr raw) {
  CSINode node = begin_decoded<CSINode>(object, std::move(raw));
  for (const Json& item : object.part("spec").items_at("drivers")) {
    CSINodeDriver& driver = node.drivers.emplace_back();
    driver.name = item.string_at("name");
    if (const Json* count = item.find_path({"allocatable", "count"}); count && !count->is_null())
      driver.volumes_max = item.part("allocatable").int_at("count");
  }
  return node;
}

VolumeAttachment decode_volume_attachment(const Json& object, RawPtr raw) {
  VolumeAttachment attachment = begin_decoded<VolumeAttachment>(object, std::move(raw));
  const Json& spec = object.part("spec");
  attachment.attacher = spec.string_at("attacher");
  attachment.node = spec.string_at("nodeName");
  attachment.volume = spec.part("source").string_at("persistentVolumeName");
  return attachment;
}

bool is_for(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  const auto& ref = volume.claim_ref;
  return ref && ref->ns == claim.meta.ns && ref->name == claim.meta.name &&
         (ref->uid.empty() || ref->uid == claim.meta.uid);
}

bool reaches(const PersistentVolume& volume, const StringMap& node_labels) {
  return !volume.node_affinity || matches(*volume.node_affinity, node_labels, "");
}

std::vector<Json> ephemeral_claim_objects(const Json& pod) {
  const ObjectMeta meta = decode_meta(pod);
  std::vector<Json> claims;
  for (const Json& volume : pod.part("spec").items_at("volumes")) {
    const Json* made_from = volume.find_path({"ephemeral", "volumeClaimTemplate"});
    if (!made_from) continue;
    Json metadata = Json::object(
        {{"name", meta.name + "-" + std::string(volume.string_at("name"))}, {"namespace", meta.ns}});
    for (const char* kept : {"labels", "annotations"})
      if (const Json* given = made_from->find_path({"metadata", kept})) metadata[kept] = *given;
    metadata["ownerReferences"] =
        Json::array({to_json(OwnerReference{"v1", "Pod", meta.name, meta.uid, true, true})});
    claims.push_back(Json::object({{"apiVersion", "v1"},
                                   {"kind", "PersistentVolumeClaim"},
                                   {"metadata", std::move(metadata)},
                                   {"spec", made_from->part("spec")}}));
  }
  return claims;
}

Json claim_ref_json(const PersistentVolumeClaim& claim) {
  return Json::object({{"apiVersion", "v1"},
                       {"kind", "PersistentVolumeClaim"},
                       {"namespace", claim.meta.ns},
                       {"name", claim.meta.name},
                       {"uid", claim.meta.uid}});
}

}  // namespace berth::api
