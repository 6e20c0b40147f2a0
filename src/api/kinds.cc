#include "api/kinds.h"

#include <algorithm>

#include "api/protobuf_document.h"
#include "api/serialized.h"
#include "api/type_table.h"

namespace berth::api {
namespace {

constexpr std::array<KindInfo, kTypedKindCount> kKinds = {{
    {Kind::Pod, "Pod", "", "v1", "pods", true},
    {Kind::Node, "Node", "", "v1", "nodes", false},
    {Kind::Namespace, "Namespace", "", "v1", "namespaces", false},
    {Kind::Lease, "Lease", "coordination.k8s.io", "v1", "leases", true},
    {Kind::PriorityClass, "PriorityClass", "scheduling.k8s.io", "v1", "priorityclasses", false},
    {Kind::PodGroup, "PodGroup", "scheduling.k8s.io", "v1beta1", "podgroups", true},
    {Kind::ResourceSlice, "ResourceSlice", "resource.k8s.io", "v1", "resourceslices", false},
    {Kind::DeviceClass, "DeviceClass", "resource.k8s.io", "v1", "deviceclasses", false},
    {Kind::ResourceClaim, "ResourceClaim", "resource.k8s.io", "v1", "resourceclaims", true},
    {Kind::ResourceClaimTemplate, "ResourceClaimTemplate", "resource.k8s.io", "v1", "resourceclaimtemplates",
     true},
    {Kind::BindRequest, "BindRequest", kBerthGroup, "v1alpha1", "bindrequests", true},
    {Kind::DeviceTaintRule, "DeviceTaintRule", "resource.k8s.io", "v1", "devicetaintrules", false},
    {Kind::PersistentVolumeClaim, "PersistentVolumeClaim", "", "v1", "persistentvolumeclaims", true},
    {Kind::PersistentVolume, "PersistentVolume", "", "v1", "persistentvolumes", false},
    {Kind::StorageClass, "StorageClass", "storage.k8s.io", "v1", "storageclasses", false},
    {Kind::CSIDriver, "CSIDriver", "storage.k8s.io", "v1", "csidrivers", false},
    {Kind::CSIStorageCapacity, "CSIStorageCapacity", "storage.k8s.io", "v1", "csistoragecapacities", true},
    {Kind::CSINode, "CSINode", "storage.k8s.io", "v1", "csinodes", false},
    {Kind::VolumeAttachment, "VolumeAttachment", "storage.k8s.io", "v1", "volumeattachments", false},
    {Kind::PodDisruptionBudget, "PodDisruptionBudget", "policy", "v1", "poddisruptionbudgets", true},
    {Kind::CompositePodGroup, "CompositePodGroup", "scheduling.k8s.io", "v1alpha3", "compositepodgroups",
     true},
    {Kind::Topology, "Topology", kBerthGroup, "v1alpha1", "topologies", false},
    {Kind::PlacementPolicy, "PlacementPolicy", kBerthGroup, "v1alpha1", "placementpolicies", true},
}};

constexpr KindInfo kOther = {Kind::Other, "", "", "", "", true};

// An object that is decoded where it stays: a Pod has 1.3 KB.
template <class T, class Document>
struct InPlace {
  InPlace(const Document& document, RawPtr raw, T (*decode)(const Document&, RawPtr))
      : object(decode(document, std::move(raw))) {}
  const T object;
};

template <class T, class Document>
TypedObject share(const Document& document, RawPtr raw, T (*decode)(const Document&, RawPtr)) {
  auto made = std::make_shared<InPlace<T, Document>>(document, std::move(raw), decode);
  const T* object = &made->object;
  return std::shared_ptr<const T>(std::move(made), object);
}

TypedObject decode_as(Kind kind, const Json& object, RawPtr raw) {
  switch (kind) {
    case Kind::Pod:
      return share<Pod>(object, std::move(raw), decode_pod);
    case Kind::Node:
      return share<Node>(object, std::move(raw), decode_node);
    case Kind::Namespace:
      return share<Namespace>(object, std::move(raw), decode_namespace);
    case Kind::Lease:
      return share<Lease>(object, std::move(raw), decode_lease);
    case Kind::PriorityClass:
      return share<PriorityClass>(object, std::move(raw), decode_priority_class);
    case Kind::PodGroup:
      return share<PodGroup>(object, std::move(raw), decode_pod_group);
    case Kind::ResourceSlice:
      return share<ResourceSlice>(object, std::move(raw), decode_resource_slice);
    case Kind::DeviceClass:
      return share<DeviceClass>(object, std::move(raw), decode_device_class);
    case Kind::ResourceClaim:
      return share<ResourceClaim>(object, std::move(raw), decode_resource_claim);
    case Kind::ResourceClaimTemplate:
      return share<ResourceClaimTemplate>(object, std::move(raw), decode_resource_claim_template);
    case Kind::BindRequest:
      return share<BindRequest>(object, std::move(raw), decode_bind_request);
    case Kind::DeviceTaintRule:
      return share<DeviceTaintRule>(object, std::move(raw), decode_device_taint_rule);
    case Kind::PersistentVolumeClaim:
      return share<PersistentVolumeClaim>(object, std::move(raw), decode_persistent_volume_claim);
    case Kind::PersistentVolume:
      return share<PersistentVolume>(object, std::move(raw), decode_persistent_volume);
    case Kind::StorageClass:
      return share<StorageClass>(object, std::move(raw), decode_storage_class);
    case Kind::CSIDriver:
      return share<CSIDriver>(object, std::move(raw), decode_csi_driver);
    case Kind::CSIStorageCapacity:
      return share<CSIStorageCapacity>(object, std::move(raw), decode_csi_storage_capacity);
    case Kind::CSINode:
      return share<CSINode>(object, std::move(raw), decode_csi_node);
    case Kind::VolumeAttachment:
      return share<VolumeAttachment>(object, std::move(raw), decode_volume_attachment);
    case Kind::PodDisruptionBudget:
      return share<DisruptionBudget>(object, std::move(raw), decode_disruption_budget);
    case Kind::CompositePodGroup:
      return share<CompositePodGroup>(object, std::move(raw), decode_composite_pod_group);
    case Kind::Topology:
      return share<Topology>(object, std::move(raw), decode_topology);
    case Kind::PlacementPolicy:
      return share<PlacementPolicy>(object, std::move(raw), decode_placement_policy);
    case Kind::Other:
      break;
  }
  AnyObject other{std::move(raw), decode_meta(object)};
  return std::make_shared<const AnyObject>(std::move(other));
}

// The kinds of which a cluster has many.
constexpr std::array kReadDirectly = {Kind::Pod, Kind::Node, Kind::ResourceSlice, Kind::ResourceClaim};

TypedObject decode_as(Kind kind, const ProtobufDocument& document, RawPtr raw) {
  switch (kind) {
    case Kind::Pod:
      return share<Pod>(document, std::move(raw), decode_pod);
    case Kind::Node:
      return share<Node>(document, std::move(raw), decode_node);
    case Kind::ResourceSlice:
      return share<ResourceSlice>(document, std::move(raw), decode_resource_slice);
    default:
      return share<ResourceClaim>(document, std::move(raw), decode_resource_claim);
  }
}

// The version of a kind that Berth asks for, and its type; null: the table has none.
struct AskedType {
  std::string api_version;
  const TypeInfo* type = nullptr;
};

Result<const TypeInfo*> type_of(Kind kind, const ProtobufEnvelope& envelope) {
  static const auto kAsked = [] {
    std::array<AskedType, kTypedKindCount> asked;
    for (const KindInfo& info : kKinds) {
      AskedType& one = asked[static_cast<std::size_t>(info.kind)];
      one.api_version = ref_of(info.kind).api_version();
      one.type = find_kind(one.api_version, info.name);
    }
    return asked;
  }();
  const AskedType& one = kAsked[static_cast<std::size_t>(kind)];
  if (one.type && envelope.kind == info_of(kind).name && envelope.api_version == one.api_version)
    return one.type;
  return type_of_envelope(envelope);
}

Result<TypedObject> decode_directly(Kind kind, const RawPtr& raw, Text text) {
  const ProtobufEnvelope envelope = TRY(open_protobuf_envelope(*raw));
  const TypeInfo* type = TRY(type_of(kind, envelope));
  ProtobufDocument::Reading reading;
  const ProtobufDocument document(*type, envelope.message, reading);
  TypedObject object = decode_as(kind, document, text == Text::Keep ? raw : nullptr);
  if (reading.trouble) return *std::move(reading.trouble);
  return object;
}

}  // namespace

const KindInfo& info_of(Kind kind) {
  return kind == Kind::Other ? kOther : kKinds[static_cast<std::size_t>(kind)];
}

Kind kind_of_resource(std::string_view group, std::string_view resource) {
  for (const KindInfo& info : kKinds)
    if (info.group == group && info.resource == resource) return info.kind;
  return Kind::Other;
}

ResourceRef ref_of(Kind kind) {
  const KindInfo& info = info_of(kind);
  return {std::string(info.group), std::string(info.version), std::string(info.resource)};
}

std::string to_text(const ObjectKey& key) {
  const std::string_view kind =
      key.kind == Kind::Other ? std::string_view(key.resource.resource) : info_of(key.kind).name;
  std::string text;
  text.reserve(kind.size() + key.ns.size() + key.name.size() + 2);
  text.append(kind).append(" ");
  if (!key.ns.empty()) text.append(key.ns).append("/");
  return text.append(key.name);
}

const ObjectMeta& meta_of(const TypedObject& object) {
  return std::visit([](const auto& typed) -> const ObjectMeta& { return typed->meta; }, object);
}

const RawPtr& raw_of(const TypedObject& object) {
  return std::visit([](const auto& typed) -> const RawPtr& { return typed->raw; }, object);
}

bool is_read_directly(Kind kind, std::string_view raw) {
  return std::ranges::find(kReadDirectly, kind) != kReadDirectly.end() && is_protobuf(raw);
}

Result<TypedObject> decode_typed(Kind kind, RawPtr raw, Text text) {
  if (is_read_directly(kind, *raw)) return decode_directly(kind, raw, text);
  const Json document = TRY(parse_object(*raw, ManagedFields::Skip));
  return decode_typed(kind, std::move(raw), document, text);
}

Result<TypedObject> decode_typed(Kind kind, RawPtr raw, const Json& document, Text text) {
  if (!document.is_object()) return Error(ErrorCode::Invalid, "an API object is a JSON object");
  return decode_as(kind, document, text == Text::Keep ? std::move(raw) : nullptr);
}

}  // namespace berth::api
