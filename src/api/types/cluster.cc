#include "api/types/cluster.h"

#include <algorithm>

#include "api/protobuf_document.h"

namespace berth::api {
namespace {

// The decoders of nodes read Json and ProtobufDocument.
// Of equal names the first: kube-scheduler's.
template <class Document>
std::vector<NodeImage> decode_images(const std::vector<Document>& items) {
  std::vector<NodeImage> images;
  for (const Document& item : items)
    for (std::string& name : strings_at(item, "names"))
      images.push_back({std::move(name), item.int_at("sizeBytes")});
  std::stable_sort(images.begin(), images.end(),
                   [](const NodeImage& a, const NodeImage& b) { return a.name < b.name; });
  const auto same = [](const NodeImage& a, const NodeImage& b) { return a.name == b.name; };
  images.erase(std::unique(images.begin(), images.end(), same), images.end());
  return images;
}

template <class Document>
void decode_node_spec(const Document& spec, Node& node) {
  node.unschedulable = spec.bool_at("unschedulable");
  if (const auto policy = spec.find("podPreemptionPolicy"))
    node.disables_resize_preemption = !strings_at(*policy, "disableResizePreemption").empty();
  for (const Document& item : spec.items_at("taints")) node.taints.push_back(decode_taint(item));
}

template <class Document>
void decode_node_status(const Document& status, Node& node) {
  node.capacity = resource_map_at(status, "capacity");
  node.allocatable = resource_map_at(status, "allocatable");
  node.conditions = decode_conditions(status.items_at("conditions"));
  node.declared_features = strings_at(status, "declaredFeatures");
  node.images = decode_images(status.items_at("images"));
}

template <class Document>
Node node_of_document(const Document& object, RawPtr raw) {
  Node node = begin_decoded<Node>(object, std::move(raw));
  if (const auto spec = object.find("spec")) decode_node_spec(*spec, node);
  if (const auto status = object.find("status")) decode_node_status(*status, node);
  return node;
}

}  // namespace

Node decode_node(const Json& object, RawPtr raw) {
  return node_of_document(object, std::move(raw));
}
Node decode_node(const ProtobufDocument& object, RawPtr raw) {
  return node_of_document(object, std::move(raw));
}

std::int64_t Node::bytes_of_image(std::string_view name) const {
  const auto at =
      std::lower_bound(images.begin(), images.end(), name,
                       [](const NodeImage& one, std::string_view wanted) { return one.name < wanted; });
  return at != images.end() && at->name == name ? at->bytes : 0;
}

bool Node::softly_tainted() const {
  return std::any_of(taints.begin(), taints.end(),
                     [](const Taint& taint) { return taint.effect == "PreferNoSchedule"; });
}

Namespace decode_namespace(const Json& object, RawPtr raw) {
  Namespace decoded = begin_decoded<Namespace>(object, std::move(raw));
  decoded.phase = object.part("status").string_at("phase");
  decoded.finalizers = decode_strings(object.part("spec").items_at("finalizers"));
  return decoded;
}

Lease decode_lease(const Json& object, RawPtr raw) {
  Lease lease = begin_decoded<Lease>(object, std::move(raw));
  const Json& spec = object.part("spec");
  lease.holder = spec.string_at("holderIdentity");
  lease.duration_s = static_cast<std::int32_t>(spec.int_at("leaseDurationSeconds"));
  lease.renewed = decode_time(spec.string_at("renewTime"));
  lease.transitions = static_cast<std::int32_t>(spec.int_at("leaseTransitions"));
  return lease;
}

PriorityClass decode_priority_class(const Json& object, RawPtr raw) {
  PriorityClass decoded = begin_decoded<PriorityClass>(object, std::move(raw));
  decoded.value = static_cast<std::int32_t>(object.int_at("value"));
  decoded.global_default = object.bool_at("globalDefault");
  decoded.preemption_policy = object.string_at("preemptionPolicy");
  return decoded;
}

namespace {

// What PodGroups and CompositePodGroups have in common. `minimum`: the field of the gang policy.
template <class Group>
void decode_group(const Json& object, std::string_view minimum, Group& group) {
  const Json& spec = object.part("spec");
  group.parent = spec.string_at("parentCompositePodGroupName");
  group.workload = spec.part("workloadRef").string_at("workloadName");
  if (const Json* gang = spec.find_path({"schedulingPolicy", "gang"}))
    group.gang_min = static_cast<std::int32_t>(gang->int_at(minimum, 1));
  const Json& constraints = spec.part("schedulingConstraints");
  for (const Json& item : constraints.items_at("topology"))
    group.topology_keys.emplace_back(item.string_at("key"));
  group.priority = static_cast<std::int32_t>(spec.int_at("priority"));
  group.preemption_policy = spec.string_at("preemptionPolicy");
  if (const Json* mode = spec.find("disruptionMode"))
    group.disruption_mode = mode->find("all") ? "all" : "single";
  group.conditions = decode_conditions(object.part("status").items_at("conditions"));
}

}  // namespace

PodGroup decode_pod_group(const Json& object, RawPtr raw) {
  PodGroup group = begin_decoded<PodGroup>(object, std::move(raw));
  decode_group(object, "minCount", group);
  const Json& spec = object.part("spec");
  if (group.topology_keys.empty())
    for (const Json& item : spec.part("schedulingConstraints").items_at("topologyConstraints"))
      group.topology_keys.emplace_back(item.string_at("level"));
  for (const Json& item : spec.items_at("resourceClaims"))
    group.claims.push_back({std::string(item.string_at("name")),
                            std::string(item.string_at("resourceClaimName")),
                            std::string(item.string_at("resourceClaimTemplateName"))});
  return group;
}

CompositePodGroup decode_composite_pod_group(const Json& object, RawPtr raw) {
  CompositePodGroup group = begin_decoded<CompositePodGroup>(object, std::move(raw));
  decode_group(object, "minGroupCount", group);
  return group;
}

}  // namespace berth::api
