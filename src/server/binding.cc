#include "server/binding.h"

#include "server/conditions.h"
#include "server/metadata.h"
#include "server/write_errors.h"

namespace berth::server {
namespace {

void set_scheduled(Json& pod, Time now) {
  condition_place(pod, "PodScheduled") = Json::object({{"type", "PodScheduled"},
                                                       {"status", "True"},
                                                       {"lastProbeTime", Json()},
                                                       {"lastTransitionTime", format_time(now)}});
}

// The contents of a Binding.
struct RequestedBinding {
  ObjectTarget pod;
  std::string node;
  std::string uid;      // precondition
  std::string version;  // precondition
  Json annotations;
  Json labels;
  Time now;
};

void copy_entries(Json& metadata, std::string_view map, const Json& from) {
  if (!from.is_object() || from.as_object().empty()) return;
  Json& to = metadata[map];
  if (!to.is_object()) to = Json::object();
  for (const JsonMember& entry : from.as_object()) to[entry.key] = entry.value;
}

ApiResult<void> check_bindable(const RequestedBinding& asked, const Json& pod) {
  const std::string_view uid = metadata_of(pod).string_at("uid");
  if (!asked.uid.empty() && asked.uid != uid) return uid_conflict(asked.pod, asked.uid, uid);
  const std::string& name = asked.pod.name;
  const auto refuse = [&](const std::string& why) { return conflict({"", "pods/binding"}, name, why); };
  const std::string_view version = metadata_of(pod).string_at("resourceVersion");
  if (!asked.version.empty() && asked.version != version)
    return refuse("Precondition failed: ResourceVersion in precondition: " + asked.version +
                  ", ResourceVersion in object meta: " + std::string(version));
  if (is_deleting(pod)) return refuse("pod " + name + " is being deleted, cannot be assigned to a host");
  const std::string_view node = pod.part("spec").string_at("nodeName");
  if (!node.empty())
    return refuse("pod " + name + " is already assigned to node \"" + std::string(node) + "\"");
  if (!pod.part("spec").items_at("schedulingGates").empty())
    return refuse("pod " + name + " has non-empty .spec.schedulingGates");
  return {};
}

ApiResult<Json> bound(const RequestedBinding& asked, const Json& current) {
  TRY(check_bindable(asked, current));
  Json pod = current;
  pod["spec"]["nodeName"] = asked.node;
  copy_entries(metadata_of(pod), "annotations", asked.annotations);
  copy_entries(metadata_of(pod), "labels", asked.labels);
  set_scheduled(pod, asked.now);
  pod["status"].as_object().erase("nominatedNodeName");
  return canonical(asked.pod, std::move(pod), current);
}

}  // namespace

ApiResult<Registry::Change> binding_change(const ObjectTarget& pod, const Json& binding,
                                           const Json& node_labels, Time now) {
  const Json& metadata = metadata_of(binding);
  const Json& node = binding.part("target");
  const std::string_view name = metadata.string_at("name"), kind = node.string_at("kind");
  if (!name.empty() && name != pod.name)
    return bad_request("name in URL does not match name in Binding object");
  if (node.string_at("name").empty()) return plain_error("target.name: Required value");
  if (!kind.empty() && kind != "Node")
    return plain_error("target.kind: Unsupported value: \"" + std::string(kind) +
                       "\": supported values: \"Node\", \"<empty>\"");
  // Kubernetes' admission copies them from the node into the binding, over the binding's own.
  Json labels = Json::object({{"labels", metadata.part("labels")}});
  if (kind == "Node") copy_entries(labels, "labels", node_labels);
  RequestedBinding asked{pod,
                         std::string(node.string_at("name")),
                         std::string(metadata.string_at("uid")),
                         std::string(metadata.string_at("resourceVersion")),
                         metadata.part("annotations"),
                         labels.part("labels"),
                         now};
  return Registry::Change([asked = std::move(asked)](const Json& current) { return bound(asked, current); });
}

}  // namespace berth::server
