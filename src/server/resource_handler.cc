#include "server/resource_handler.h"

#include <algorithm>

#include "api/conversions.h"
#include "api/selectors.h"
#include "crd/definition_rules.h"
#include "crd/served_version.h"
#include "server/conversion_webhooks.h"
#include "server/object_versions.h"
#include "server/served.h"

namespace berth::server {
namespace {

// "pods/status".
std::string with_subresource(std::string text, const ObjectTarget& target) {
  return target.subresource.empty() ? text : text + "/" + target.subresource;
}

// What a request about many objects selects and rights are about: one object by its name, those of a node.
struct Selected {
  std::string name, node;
};

Selected selected_by(const ResourceCall& call) {
  Selected selected;
  const bool reads_many = call.verb == "list" || call.verb == "watch";
  const std::string* selector = call.request.parameter("fieldSelector");
  if ((!reads_many && call.verb != "deletecollection") || !selector || !call.target.name.empty())
    return selected;
  const Result<std::vector<api::FieldRequirement>> requirements = api::parse_field_requirements(*selector);
  if (!requirements) return selected;
  for (const api::FieldRequirement& requirement : *requirements) {
    if (!requirement.equal) continue;
    if (requirement.label == "metadata.name" && reads_many && selected.name.empty())
      selected.name = requirement.value;
    if (requirement.label == "spec.nodeName") selected.node = requirement.value;
  }
  return selected;
}

// A namespace is in itself: its own RoleBindings say who may read it.
rbac::Attributes attributes_of(const ResourceCall& call, const Selected& selected) {
  const ObjectTarget& target = call.target;
  return {.verb = call.verb,
          .group = target.resource->group,
          .resource = with_subresource(std::string(target.resource->plural), target),
          .ns = is_core(target, "namespaces") ? target.name : target.ns,
          .name = target.name.empty() ? std::string_view(selected.name) : std::string_view(target.name),
          .selected_node = selected.node};
}

// Refuses the list form for one object, and the reverse. Watches and deletes accept either.
ApiResult<void> check_form(ResourceCall& call) {
  const bool reads = call.request.method == "GET";
  if (call.verb != "watch" && call.request.method != "DELETE")
    return check_metadata_form(call.rendering, *call.target.resource, reads && call.target.name.empty());
  if (call.rendering.form == Form::MetadataList) call.rendering.form = Form::Metadata;
  return {};
}

}  // namespace

std::string_view verb_of(const HttpRequest& request, const ResourcePath& path) {
  const bool one = !path.name.empty();
  if (request.method == "POST") return "create";
  if (request.method == "PUT") return "update";
  if (request.method == "PATCH") return "patch";
  if (request.method == "DELETE") return one ? "delete" : "deletecollection";
  const std::string* watch = request.parameter("watch");
  const bool asked = watch && *watch != "0" && *watch != "false" && !one;
  if (request.method == "GET" && (path.legacy_watch || asked)) return "watch";
  return one ? "get" : "list";
}

void ResourceCall::warn(std::vector<std::string> more) {
  for (std::string& warning : more) warnings.push_back(std::move(warning));
}

ResourceHandler::ResourceHandler(Registry& registry, Access& access, ServiceAccountTokens* tokens,
                                 WatchHub& watches, ListLane& lists, CustomResources& custom, Audit audit,
                                 bool warn_unacted, std::vector<std::string> unacted)
    : registry_(registry),
      access_(access),
      tokens_(tokens),
      watches_(watches),
      lists_(lists),
      custom_(custom),
      usage_(registry),
      audit_(std::move(audit)),
      warn_unacted_(warn_unacted),
      unacted_(std::move(unacted)) {}

WriteOptions ResourceHandler::noted(const Call& call, WriteOptions options) {
  options.notes = std::shared_ptr<AdmissionNotes>(call, &call->notes);
  return options;
}

bool ResourceHandler::is_unacted(const api::ResourceInfo& resource) const {
  const std::string name = qualified({resource.group, resource.plural});
  return !has_controller(resource) || std::find(unacted_.begin(), unacted_.end(), name) != unacted_.end();
}

void ResourceHandler::handle(HttpRequest request, const api::ResourceInfo& resource, ServedPtr served,
                             const ResourcePath& path, std::shared_ptr<HttpExchange> exchange) {
  const auto call = std::make_shared<ResourceCall>();
  call->target = {&resource, path.ns, path.name, path.subresource, std::move(served)};
  call->verb = verb_of(request, path);
  call->request = std::move(request);
  call->exchange = std::move(exchange);
  const auto handled = [this, call] {
    if (const ApiResult<void> routed = route(call); !routed) answer(call, routed.error());
  };
  if (!has_webhook(call->target)) return handled();
  WaitingLanes& lanes = call->target.served->webhooks()->lanes();
  if (!lanes.offer(crd::served_version(resource)->definition->name, handled))
    answer(call, too_many_requests());
}

ApiResult<void> ResourceHandler::route(const Call& call) {
  const ObjectTarget& target = call->target;
  if (call->verb != "watch") TRY(check_timeout(call->request));
  const api::ResourceInfo& resource = *target.resource;
  const bool misplaced = !resource.namespaced && !target.ns.empty();
  const bool of_subresource = !target.subresource.empty();
  if (misplaced || (of_subresource && !resource.has_subresource(target.subresource))) return path_not_found();
  const Selected selected = selected_by(*call);
  TRY(access_.authorize(call->request.user, attributes_of(*call, selected)));
  if (auto warning = deprecation_of(resource)) call->warnings.push_back(*std::move(warning));
  if (!of_subresource && !has_verb(resource, call->verb)) return method_not_allowed();
  call->rendering = TRY(rendering_of(call->request, target));
  TRY(check_form(*call));
  if (of_subresource) return route_subresource(call);
  return target.name.empty() ? route_collection(call) : route_object(call);
}

ApiResult<void> ResourceHandler::route_collection(const Call& call) {
  const std::string& method = call->request.method;
  const bool all_namespaces = call->target.resource->namespaced && call->target.ns.empty();
  if (call->verb == "watch") return watch(call);
  if (method == "GET") return list_page(call);
  if (method == "POST" && !all_namespaces) return create(call);
  if (method == "DELETE" && !all_namespaces) return remove_collection(call);
  return method_not_allowed();
}

ApiResult<void> ResourceHandler::route_object(const Call& call) {
  const std::string& method = call->request.method;
  if (call->verb == "watch") return watch(call);
  if (method == "GET") return get(call);
  if (method == "PUT") return replace(call);
  if (method == "PATCH") return patch(call);
  if (method == "DELETE") return remove(call);
  return method_not_allowed();
}

ApiResult<void> ResourceHandler::route_subresource(const Call& call) {
  const std::string& method = call->request.method;
  const std::string& subresource = call->target.subresource;
  if (subresource == "binding" && method == "POST") return bind(call);
  if (subresource == "eviction" && method == "POST") return evict(call);
  if (subresource == "log" && method == "GET") return log(call);
  if (subresource == "scale") return scale(call);
  if (subresource == "token" && method == "POST") return token(call);
  if (subresource == "exec" || subresource == "attach" || subresource == "portforward" ||
      subresource == "proxy")
    return connect(call);
  const bool document = subresource == "status" || subresource == "finalize" || subresource == "resize" ||
                        subresource == "approval" || subresource == "ephemeralcontainers";
  if (document && method == "GET") return get(call);
  if (subresource == "finalize" && custom_.has_objects_in(call->target.name)) {
    custom_.wake();
    return conflict(call->target.resource_name(), call->target.name,
                    "objects of custom resources are left in the namespace");
  }
  if (document && method == "PUT") return replace(call);
  if (document && method == "PATCH") return patch(call);
  return method_not_allowed();
}

void ResourceHandler::answer(const Call& call, ApiResult<Answer> made) {
  const bool writes = call->request.method != "GET";
  if (!made || !writes || !crd::is_definition(*call->target.resource))
    return convert_then(call, std::move(made), &ResourceHandler::answer_now);
  carry_out_definitions([this, call, made = std::move(made)] { answer_now(call, made); });
}

void ResourceHandler::carry_out_definitions(std::function<void()> then) {
  // Not here: this may be the committer's thread.
  registry_.dependencies().executor.post([this, then = std::move(then)] {
    custom_.run();
    then();
  });
}

void ResourceHandler::convert_then(const Call& call, ApiResult<Answer> made, Continuation then) {
  if (!made || !is_shaped_by_reads(call->target)) return (this->*then)(call, made);
  post_for(call->target, registry_.dependencies().executor, [this, call, made = std::move(made), then] {
    (this->*then)(call, in_request_version(call->target, *made));
  });
}

void ResourceHandler::answer_now(const Call& call, const ApiResult<Answer>& made) {
  if (!made) {
    call->rendering.encoding = status_encoding(call->request);
    return respond(call, made.error().to_response());
  }
  const std::string& stored = made->object ? made->object->bytes : made->document;
  const bool is_status = !made->object && stored.rfind("{\"kind\":\"Status\"", 0) == 0;
  HttpResponse response = json_response(made->code, "");
  response.body = is_status ? stored
                            : render_one(*call->target.resource, made->object, stored, call->rendering,
                                         registry_.dependencies().clock.now());
  call->warn(made->warnings);
  respond(call, std::move(response), made->object ? made->object->revision : 0);
}

void ResourceHandler::respond(const Call& call, HttpResponse response, store::Revision revision) const {
  audit(*call, response.status, revision);
  call->warn(call->notes.record().warnings);
  add_warnings(response.headers, call->warnings);
  call->exchange->respond(encoded(std::move(response), call->rendering.encoding));
}

void ResourceHandler::audit(const ResourceCall& call, int code, store::Revision revision) const {
  if (!audit_) return;
  const ObjectTarget& target = call.target;
  AdmissionRecord admission = call.notes.record();
  audit_({registry_.dependencies().clock.now(), call.request.user.name, std::string(call.verb),
          with_subresource(qualified(target.resource_name()), target), target.ns,
          target.name.empty() ? call.created : target.name, code, revision, std::move(admission.refused_by),
          std::move(admission.annotations)});
}

}  // namespace berth::server
