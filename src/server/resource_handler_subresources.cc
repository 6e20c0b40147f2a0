// Subresources that are not part of the object: binding, eviction, scale, token, and those that a node
// serves.
#include "crd/served_version.h"
#include "server/apply.h"
#include "server/binding.h"
#include "server/eviction.h"
#include "server/metadata.h"
#include "server/request_body.h"
#include "server/resource_handler.h"
#include "server/scale.h"

namespace berth::server {

namespace {

// Of a stored node: what its pods are labelled with. Most nodes are not parsed, as they have none.
Json topology_labels(const Registry& registry, std::string_view node) {
  const store::ObjectPtr stored = registry.store().get({"nodes", "", std::string(node)});
  if (!stored || stored->bytes.find(api::kTopologyLabelPrefix) == std::string::npos) return {};
  const Result<Json> document = registry.document_of(*stored);
  return document ? api::topology_labels_of(*document) : Json();
}

}  // namespace

ApiResult<void> ResourceHandler::bind(const Call& call) {
  WriteOptions options = TRY(write_options_of(call->request, "CreateOptions"));
  const api::TypeInfo& type = *api::find_kind("v1", "Binding");
  Json binding = TRY(read_document(call->request, type));
  ObjectTarget pod = call->target;
  pod.resource = api::find_resource("", "v1", "pods");
  pod.subresource = "binding";
  // The older path, …/bindings, names the pod only in the body.
  if (pod.name.empty()) pod.name = metadata_of(binding).string_at("name");
  options = noted(call, std::move(options));
  admit_body(call, pod, type, std::move(binding), options, [this, call, pod, options](const Json& admitted) {
    return bind_as(call, pod, options, admitted);
  });
  return {};
}

ApiResult<void> ResourceHandler::bind_as(const Call& call, const ObjectTarget& pod,
                                         const WriteOptions& options, const Json& binding) {
  const Json labels = topology_labels(registry_, binding.part("target").string_at("name"));
  Registry::Change change = TRY(binding_change(pod, binding, labels, registry_.dependencies().clock.now()));
  registry_.modify(pod, std::move(change), options,
                   [this, call](ApiResult<Answer> bound) { answer_done(call, std::move(bound)); });
  return {};
}

void ResourceHandler::admit_body(const Call& call, ObjectTarget target, const api::TypeInfo& type, Json body,
                                 const WriteOptions& options,
                                 std::function<ApiResult<void>(const Json& body)> carry_out) {
  registry_.admit_body(std::move(target), type, std::move(body), options,
                       [this, call, carry_out = std::move(carry_out)](const ApiResult<Json>& admitted) {
                         const ApiResult<void> done =
                             admitted ? carry_out(*admitted) : ApiResult<void>(admitted.error());
                         if (!done) answer(call, done.error());
                       });
}

ApiResult<void> ResourceHandler::evict(const Call& call) {
  const api::TypeInfo& type = *api::find_kind("policy/v1", "Eviction");
  Json eviction = TRY(read_document(call->request, type));
  const std::string_view name = metadata_of(eviction).string_at("name");
  if (!name.empty() && name != call->target.name)
    return bad_request("name in URL does not match name in Eviction object");
  const WriteOptions options = noted(call, TRY(write_options_of(call->request, "CreateOptions")));
  const auto carry_out = [this, call, dry_run = options.dry_run](const Json& admitted) -> ApiResult<void> {
    ObjectTarget pod = call->target;
    pod.subresource.clear();
    DeleteOptions deletion = delete_options_of(admitted.part("deleteOptions"));
    deletion.dry_run |= dry_run;
    evict_pod(registry_, std::move(pod), std::move(deletion),
              [this, call](ApiResult<Answer> evicted) { answer_done(call, std::move(evicted)); });
    return {};
  };
  admit_body(call, call->target, type, std::move(eviction), options, carry_out);
  return {};
}

// The response to POSTs of subresources: a Status, not the object.
void ResourceHandler::answer_done(const Call& call, ApiResult<Answer> done) {
  if (done) {
    done->code = 201;
    done->object = nullptr;
    done->document = R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201})";
  }
  answer(call, std::move(done));
}

ApiResult<void> ResourceHandler::token(const Call& call) {
  if (!tokens_) return not_implemented("service account tokens are not given out here");
  const api::TypeInfo& type = *api::find_kind("authentication.k8s.io/v1", "TokenRequest");
  Json request = TRY(read_document(call->request, type));
  const WriteOptions options = noted(call, TRY(write_options_of(call->request, "CreateOptions")));
  admit_body(call, call->target, type, std::move(request), options,
             [this, call](const Json& admitted) -> ApiResult<void> {
               const Json issued = TRY(tokens_->issue(call->target, admitted));
               respond(call, json_response(201, to_string(issued)));
               return {};
             });
  return {};
}

ApiResult<void> ResourceHandler::scale(const Call& call) {
  const std::string& method = call->request.method;
  if (method == "GET") {
    answer_scale(call, registry_.get(call->target));
    return {};
  }
  if (method != "PUT" && method != "PATCH") return method_not_allowed();
  WriteOptions options =
      TRY(write_options_of(call->request, method == "PUT" ? "UpdateOptions" : "PatchOptions"));
  Registry::Change change =
      options.is_apply ? TRY(apply_change(call->request, call->target, options, FieldValidation::Ignore,
                                          registry_.dependencies().clock.now(), call->patch_warnings))
                       : TRY(scale_change(call->request, crd::served_version(*call->target.resource)));
  registry_.modify(call->target, std::move(change), noted(call, std::move(options)),
                   [this, call](ApiResult<Answer> made) { answer_scale(call, std::move(made)); });
  return {};
}

void ResourceHandler::answer_scale(const Call& call, ApiResult<Answer> made) {
  convert_then(call, std::move(made), &ResourceHandler::answer_scale_now);
}

void ResourceHandler::answer_scale_now(const Call& call, const ApiResult<Answer>& made) {
  if (!made) return answer(call, made);
  const std::string& bytes = made->object ? made->object->bytes : made->document;
  const Json object = parse_json(bytes).value_or(Json::object());
  respond(call,
          json_response(made->code, to_string(scale_of(object, crd::served_version(*call->target.resource)))),
          made->object ? made->object->revision : 0);
}

// Refuses a pod that does not exist.
ApiResult<bool> ResourceHandler::runs_on_a_node(const ObjectTarget& pod) const {
  const Answer found = TRY(registry_.get(pod));
  const Json object = parse_json(found.object->bytes).value_or(Json::object());
  return !object.part("spec").string_at("nodeName").empty();
}

// When the pod began, as kubelet writes times in front of lines.
ApiResult<std::string> ResourceHandler::start_time(const ObjectTarget& pod) const {
  const Answer found = TRY(registry_.get(pod));
  const Json document = registry_.document_of(*found.object).value_or(Json());
  std::string time(document.part("status").string_at("startTime"));
  if (time.empty()) time = document.part("metadata").string_at("creationTimestamp");
  if (time.ends_with('Z')) time.insert(time.size() - 1, ".000000000");
  return time;
}

ApiResult<void> ResourceHandler::log(const Call& call) {
  // Without a node there is no kubelet to call: no content.
  const bool bound = TRY(runs_on_a_node(call->target));
  if (!bound) {
    respond(call, HttpResponse{204, {}, ""});
    return {};
  }
  std::string line = "simulated pod: it writes no logs\n";
  const std::string* timestamps = call->request.parameter("timestamps");
  if (timestamps && *timestamps != "false" && *timestamps != "0")
    line = TRY(start_time(call->target)) + " " + line;
  respond(call, text_response(200, std::move(line)));
  return {};
}

ApiResult<void> ResourceHandler::connect(const Call& call) {
  const ObjectTarget& target = call->target;
  if (target.resource->plural == "pods" && !TRY(runs_on_a_node(target)))
    return bad_request("pod " + target.name + " does not have a host assigned");
  return not_implemented("simulated pods have no processes: " + target.subresource +
                         " is not available here");
}

}  // namespace berth::server
