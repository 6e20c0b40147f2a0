// The pods/binding subresource: the only way a pod gets its node.
#include "api/decode.h"
#include "server/metadata.h"
#include "server/registry.h"

namespace berth::server {
namespace {

void set_scheduled(Json& pod, Time now) {
  Json& conditions = pod["status"]["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  Json scheduled = Json::object({{"type", "PodScheduled"},
                                 {"status", "True"},
                                 {"lastProbeTime", Json()},
                                 {"lastTransitionTime", format_time(now)}});
  for (Json& condition : conditions.as_array())
    if (condition.string_at("type") == "PodScheduled") {
      condition = std::move(scheduled);
      return;
    }
  conditions.as_array().push_back(std::move(scheduled));
}

std::optional<std::string> refuses_binding(const Json& pod, std::string_view name) {
  const Json* spec = pod.find("spec");
  if (is_deleting(pod)) return "pod " + std::string(name) + " is being deleted, cannot be assigned to a host";
  if (spec && !spec->string_at("nodeName").empty())
    return "pod " + std::string(name) + " is already assigned to node \"" +
           std::string(spec->string_at("nodeName")) + "\"";
  if (spec && !spec->items_at("schedulingGates").empty())
    return "pod " + std::string(name) + " has non-empty .spec.schedulingGates";
  return std::nullopt;
}

ApiStatus plain_error(std::string message) {
  ApiStatus status;
  status.message = std::move(message);
  return status;
}

}  // namespace

void Registry::bind(ObjectTarget target, const Json& binding, WriteOptions options, Done done) {
  const Json* node = binding.find("target");
  const std::string_view kind = node ? node->string_at("kind") : "";
  const std::string node_name(node ? node->string_at("name") : "");
  const std::string_view name = metadata_of(binding).string_at("name");
  if (!name.empty() && name != target.name)
    return done(Answer::failed(bad_request("name in URL does not match name in Binding object")));
  if (node_name.empty()) return done(Answer::failed(plain_error("target.name: Required value")));
  if (!kind.empty() && kind != "Node")
    return done(Answer::failed(plain_error("target.kind: Unsupported value: \"" + std::string(kind) +
                                           "\": supported values: \"Node\", \"<empty>\"")));

  const std::string uid(metadata_of(binding).string_at("uid"));
  const std::string version(metadata_of(binding).string_at("resourceVersion"));
  const Json annotations =
      metadata_of(binding).find("annotations") ? *metadata_of(binding).find("annotations") : Json();
  const Time now = dependencies_.clock.now();
  target.subresource = "binding";
  const ObjectTarget pod_target = target;
  const auto change = [=](const Json& current) -> ApiResult<Json> {
    const std::string_view live_uid = metadata_of(current).string_at("uid");
    if (!uid.empty() && uid != live_uid) return uid_conflict(pod_target, uid, live_uid);
    const std::string_view live_version = metadata_of(current).string_at("resourceVersion");
    if (!version.empty() && version != live_version)
      return conflict({"", "pods/binding"}, pod_target.name,
                      "Precondition failed: ResourceVersion in precondition: " + version +
                          ", ResourceVersion in object meta: " + std::string(live_version));
    if (const auto refused = refuses_binding(current, pod_target.name))
      return conflict({"", "pods/binding"}, pod_target.name, *refused);
    Json pod = current;
    pod["spec"]["nodeName"] = node_name;
    if (annotations.is_object())
      for (const JsonMember& annotation : annotations.as_object())
        metadata_of(pod)["annotations"][annotation.key] = annotation.value;
    set_scheduled(pod, now);
    pod["status"].as_object().erase("nominatedNodeName");
    // Members where the API writes them: what is stored is canonical, and later writes share it.
    Result<api::Decoded> canonical =
        api::decode_document(pod_target.resource->type(), std::move(pod), current);
    if (!canonical) return internal_error(canonical.error().text());
    return std::move(canonical->document);
  };
  modify(std::move(target), change, std::move(options), [done = std::move(done)](Answer answer) {
    if (!answer.status) answer.code = 201;
    done(std::move(answer));
  });
}

}  // namespace berth::server
