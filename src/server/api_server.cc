#include "server/api_server.h"

#include <future>
#include <mutex>

#include "server/access.h"
#include "server/apply.h"
#include "server/binding.h"
#include "server/conversions.h"
#include "server/discovery.h"
#include "server/eviction.h"
#include "server/list.h"
#include "server/metadata.h"
#include "server/request_body.h"
#include "server/request_path.h"
#include "server/reviews.h"
#include "server/scale.h"
#include "server/serialization.h"
#include "server/served.h"

namespace berth::server {
namespace {

const api::ResourceInfo* served_resource(const ResourcePath& path, const api::Gates& gates) {
  const api::ResourceInfo* resource = api::find_resource(path.group, path.version, path.resource);
  return resource && is_served(*resource, gates) ? resource : nullptr;
}

bool group_is_served(std::string_view group, const api::Gates& gates) {
  for (const api::ResourceInfo& resource : api::resources())
    if (resource.group == group && is_served(resource, gates)) return true;
  return false;
}

std::string_view verb_of(const HttpRequest& request, const ObjectTarget& target, bool watch) {
  if (request.method == "POST") return "create";
  if (request.method == "PUT") return "update";
  if (request.method == "PATCH") return "patch";
  if (request.method == "DELETE") return target.name.empty() ? "deletecollection" : "delete";
  if (watch) return "watch";
  return target.name.empty() ? "list" : "get";
}

bool is_health_path(std::string_view path) {
  for (std::string_view root : {"/healthz", "/livez", "/readyz"})
    if (path == root || path == std::string(root) + "/ping") return true;
  return false;
}

constexpr std::string_view kApplyNotServed =
    "server-side apply is not served yet: use kubectl apply without --server-side";

// "pods/status".
std::string resource_text(const ObjectTarget& target) {
  std::string text(target.resource->plural);
  if (!target.subresource.empty()) text += "/" + target.subresource;
  return text;
}

bool allows(const api::ResourceInfo& resource, std::string_view verb) {
  bool found = false;
  api::for_each_listed(resource.verbs, [&](std::string_view listed) { found |= listed == verb; });
  return found;
}

HttpResponse no_such_page() {
  return text_response(404, "404 page not found\n");
}

// The deletes of one collection: answered when all have their answers, with the first refusal if there is
// one.
struct CollectionRemoval {
  std::mutex mutex;
  std::size_t left = 0;
  ApiResult<void> outcome;

  // The outcome of the whole with the last answer; nothing before. Gone already is no failure.
  std::optional<ApiResult<void>> finish(const ApiResult<Answer>& removed) {
    const std::lock_guard lock(mutex);
    const bool refused = !removed && removed.error().code != 404;
    if (refused && outcome.ok()) outcome = removed.error();
    if (--left > 0) return std::nullopt;
    return outcome;
  }
};

}  // namespace

struct ApiServer::Call {
  HttpRequest request;
  std::shared_ptr<HttpExchange> exchange;
  ObjectTarget target;
  Rendering rendering;
  std::string created;  // the name in a create's body, or the one that it got
  std::vector<std::string> warnings;
  std::vector<std::string> patch_warnings;  // of the latest try
  bool watch = false;                       // the path says so
};

bool ApiServer::is_watch(const Call& call) {
  const std::string* watch = call.request.parameter("watch");
  const bool asked = watch && *watch != "0" && *watch != "false" && call.target.name.empty();
  return call.request.method == "GET" && (call.watch || asked);
}

ApiServer::ApiServer(Registry::Dependencies world, ApiServerOptions options)
    : registry_(world, options.recent_documents_bytes), watches_(registry_), options_(std::move(options)) {}

namespace {

Json default_namespace(const char* name) {
  return Json::object({{"kind", "Namespace"},
                       {"apiVersion", "v1"},
                       {"metadata", Json::object({{"name", name}})},
                       {"spec", Json::object({{"finalizers", Json::array({"kubernetes"})}})},
                       {"status", Json::object({{"phase", "Active"}})}});
}

// Above what users may give.
Json system_priority(const char* name, std::int64_t value, const char* description) {
  return Json::object({{"kind", "PriorityClass"},
                       {"apiVersion", "scheduling.k8s.io/v1"},
                       {"metadata", Json::object({{"name", name}})},
                       {"value", value},
                       {"description", description},
                       {"preemptionPolicy", "PreemptLowerPriority"}});
}

}  // namespace

Status ApiServer::make_default_object(const api::ResourceInfo& resource, Json object) {
  const std::string name(metadata_of(object).string_at("name"));
  if (registry_.store().get({storage_resource(resource), "", name})) return {};
  std::promise<ApiResult<Answer>> answered;
  registry_.create({&resource, "", "", ""}, std::move(object), {},
                   [&](ApiResult<Answer> answer) { answered.set_value(std::move(answer)); });
  const ApiResult<Answer> made = answered.get_future().get();
  if (made || made.error().code == 409) return {};
  return Error(ErrorCode::Internal,
               "cannot make " + std::string(resource.kind) + " " + name + ": " + made.error().message);
}

Status ApiServer::make_default_objects() {
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"})
    if (Status made =
            make_default_object(*api::find_resource("", "v1", "namespaces"), default_namespace(name));
        !made)
      return made;
  const api::ResourceInfo& priorities = *api::find_resource("scheduling.k8s.io", "v1", "priorityclasses");
  const Status node = make_default_object(
      priorities,
      system_priority("system-node-critical", 2'000'001'000,
                      "Used for system critical pods that must not be moved from their current node."));
  if (!node) return node;
  return make_default_object(
      priorities,
      system_priority("system-cluster-critical", 2'000'000'000,
                      "Used for system critical pods that must run in the cluster, but can be moved to "
                      "another node if necessary."));
}

void ApiServer::handle(HttpRequest request, std::shared_ptr<HttpExchange> exchange) {
  const api::Gates& gates = registry_.dependencies().gates;
  if (is_health_path(request.path)) {
    const bool up = ready_ || request.path.rfind("/readyz", 0) != 0;
    return exchange->respond(text_response(up ? 200 : 500, up ? "ok" : "not ready"));
  }
  ApiResult<User> asker = authenticate(request);
  if (!asker) return exchange->respond(asker.error().to_response());
  request.user = *std::move(asker);
  const ParsedPath path = parse_path(request.path);
  if (path.kind != PathKind::Resource)
    if (const auto allowed = authorize_path(request.user, request.method, request.path); !allowed)
      return exchange->respond(allowed.error().to_response());
  if (request.path == "/metrics" && options_.metrics)
    return exchange->respond(
        {200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, options_.metrics()});
  if (options_.pages && request.method == "GET" && path.kind != PathKind::Resource)
    if (std::optional<std::string> page = options_.pages(request.path))
      return exchange->respond({200, {{"Content-Type", "application/json"}}, *std::move(page)});
  if (std::optional<HttpResponse> said = discovery(request, path, gates))
    return exchange->respond(std::move(*said));
  if (path.kind != PathKind::Resource) {
    const bool known_group =
        path.kind == PathKind::GroupVersion && group_is_served(path.resource.group, gates);
    return exchange->respond(known_group ? path_not_found().to_response() : no_such_page());
  }
  auto call = std::make_shared<Call>();
  call->target = {served_resource(path.resource, gates), path.resource.ns, path.resource.name,
                  path.resource.subresource};
  call->watch = path.resource.legacy_watch;
  if (!call->target.resource)
    return exchange->respond(group_is_served(path.resource.group, gates) ? path_not_found().to_response()
                                                                         : no_such_page());
  call->request = std::move(request);
  call->exchange = std::move(exchange);
  handle_resource(std::move(call));
}

void ApiServer::handle_resource(std::shared_ptr<Call> call) {
  const ObjectTarget& target = call->target;
  const bool misplaced = !target.resource->namespaced && !target.ns.empty();
  const bool unknown_subresource =
      !target.subresource.empty() && !target.resource->has_subresource(target.subresource);
  if (misplaced || unknown_subresource) return answer(call, path_not_found());
  const std::string_view verb = verb_of(call->request, target, is_watch(*call));
  const AccessAttributes attributes{verb, target.resource->group, resource_text(target), target.ns,
                                    target.name};
  if (const auto allowed = authorize(call->request.user, attributes); !allowed)
    return answer(call, allowed.error());
  if (const auto warning = deprecation_of(*target.resource)) call->warnings.push_back(*warning);
  if (target.subresource.empty() && !allows(*target.resource, verb))
    return answer(call, method_not_allowed());
  auto rendering = rendering_of(call->request);
  if (!rendering) return answer(call, rendering.error());
  call->rendering = *rendering;
  const bool watches = is_watch(*call);
  const bool lists = call->request.method == "GET" && target.name.empty() && !watches;
  const bool either_form = watches || call->request.method == "DELETE";
  if (either_form && call->rendering.form == Form::MetadataList) call->rendering.form = Form::Metadata;
  if (!either_form)
    if (const auto fits = check_metadata_form(call->rendering, *target.resource, lists); !fits)
      return answer(call, fits.error());
  if (!target.subresource.empty()) return handle_subresource(std::move(call));
  if (target.name.empty()) return handle_collection(std::move(call));
  handle_object(std::move(call));
}

void ApiServer::handle_collection(std::shared_ptr<Call> call) {
  const std::string& method = call->request.method;
  const bool all_namespaces = call->target.resource->namespaced && call->target.ns.empty();
  if (method == "GET") return list_or_watch(std::move(call));
  if (method == "POST" && !all_namespaces) return create(std::move(call));
  if (method == "DELETE" && !all_namespaces) return remove_collection(std::move(call));
  answer(call, method_not_allowed());
}

void ApiServer::handle_object(std::shared_ptr<Call> call) {
  const std::string& method = call->request.method;
  if (method == "GET" && call->watch) return list_or_watch(std::move(call));
  if (method == "GET") return get(call);
  if (method == "PUT") return replace(std::move(call));
  if (method == "PATCH") return patch(std::move(call));
  if (method == "DELETE") return remove(std::move(call));
  answer(call, method_not_allowed());
}

void ApiServer::handle_subresource(std::shared_ptr<Call> call) {
  const std::string& method = call->request.method;
  const std::string& subresource = call->target.subresource;
  if (subresource == "binding" && method == "POST") return bind(std::move(call));
  if (subresource == "eviction" && method == "POST") return evict(std::move(call));
  if (subresource == "log" && method == "GET") return log(call);
  if (subresource == "scale") return scale(std::move(call));
  if (subresource == "token")
    return answer(call, not_implemented("service account tokens are not given out here"));
  if (subresource == "exec" || subresource == "attach" || subresource == "portforward" ||
      subresource == "proxy")
    return connect(call);
  const bool document = subresource == "status" || subresource == "finalize" || subresource == "resize" ||
                        subresource == "approval" || subresource == "ephemeralcontainers";
  if (!document) return answer(call, method_not_allowed());
  if (method == "GET") return get(call);
  if (method == "PUT") return replace(std::move(call));
  if (method == "PATCH") return patch(std::move(call));
  answer(call, method_not_allowed());
}

void ApiServer::scale(std::shared_ptr<Call> call) {
  const std::string& method = call->request.method;
  ObjectTarget object = call->target;
  object.subresource.clear();
  if (method == "GET") return answer_scale(call, registry_.get(object));
  if (method != "PUT" && method != "PATCH") return answer(call, method_not_allowed());
  auto options = write_options_of(call->request, method == "PUT" ? "UpdateOptions" : "PatchOptions");
  if (!options) return answer(call, options.error());
  if (method == "PATCH" && is_apply(call->request)) return answer(call, not_implemented(kApplyNotServed));
  auto change = scale_change(call->request);
  if (!change) return answer(call, change.error());
  registry_.modify(std::move(object), *std::move(change), *options,
                   [this, call](ApiResult<Answer> made) { answer_scale(call, std::move(made)); });
}

void ApiServer::answer_scale(const std::shared_ptr<Call>& call, ApiResult<Answer> made) {
  if (!made) return answer(call, std::move(made));
  const std::string& bytes = made->object ? made->object->bytes : made->document;
  const Json object = parse_json(bytes).value_or(Json::object());
  respond(call, json_response(made->code, to_string(scale_of(object))),
          made->object ? made->object->revision : 0);
}

// Whether a node runs the stored pod; a refusal when there is no such pod.
ApiResult<bool> ApiServer::is_bound(const ObjectTarget& target) const {
  const Answer found = TRY(registry_.get(target));
  const Json pod = parse_json(found.object->bytes).value_or(Json::object());
  return !pod.part("spec").string_at("nodeName").empty();
}

void ApiServer::log(const std::shared_ptr<Call>& call) {
  const auto bound = is_bound(call->target);
  if (!bound) return answer(call, bound.error());
  // Without a node there is nobody to ask: no content.
  if (!*bound) return respond(call, {204, {}, ""});
  respond(call, text_response(200, "simulated pod: it writes no logs\n"));
}

void ApiServer::connect(const std::shared_ptr<Call>& call) {
  const bool is_pod = call->target.resource->plural == "pods";
  const auto bound = is_pod ? is_bound(call->target) : ApiResult<bool>(true);
  if (!bound) return answer(call, bound.error());
  if (!*bound)
    return answer(call, bad_request("pod " + call->target.name + " does not have a host assigned"));
  answer(call, not_implemented("simulated pods have no processes: " + call->target.subresource +
                               " is not available here"));
}

void ApiServer::warn(Call& call, std::vector<std::string> warnings) {
  for (std::string& warning : warnings) call.warnings.push_back(std::move(warning));
}

void ApiServer::get(const std::shared_ptr<Call>& call) {
  auto read = read_list_options(call->request);
  if (!read) return answer(call, read.error());
  const std::optional<store::Revision> version = read->version;
  const store::Revision newest = registry_.store().revision();
  if (version && *version > newest) return answer(call, too_large_version(*version, newest));
  answer(call, registry_.get(call->target));
}

void ApiServer::create(std::shared_ptr<Call> call) {
  if (call->target.resource->group == "apiextensions.k8s.io")
    return answer(call, not_implemented("custom resource definitions are not served yet"));
  if (call->target.resource->group.empty() && call->target.resource->plural == "bindings")
    return bind(std::move(call));
  auto options = write_options_of(call->request, "CreateOptions");
  auto validation = field_validation_of(call->request, "CreateOptions");
  if (!options) return answer(call, options.error());
  if (!validation) return answer(call, validation.error());
  auto body = read_object(call->request, *call->target.resource, *validation);
  if (!body) return answer(call, body.error());
  ReadBody& read = *body;
  call->created = metadata_of(read.document).string_at("name");
  warn(*call, std::move(read.warnings));
  options->empty_lists = std::move(read.empty_lists);
  auto reviewed =
      review(*call->target.resource, read.document, call->request.user, registry_.dependencies().clock.now());
  if (!reviewed) return answer(call, reviewed.error());
  if (*reviewed) return answer(call, **std::move(reviewed));
  registry_.create(call->target, std::move(read.document), *options, [this, call](ApiResult<Answer> made) {
    if (made && made->object) call->created = made->object->key.name;
    if (options_.warn_unacted && made && !has_controller(*call->target.resource))
      call->warnings.push_back("no controller here acts on " + qualified(call->target.resource_name()) +
                               ": it is only stored");
    answer(call, std::move(made));
  });
}

void ApiServer::replace(std::shared_ptr<Call> call) {
  auto options = write_options_of(call->request, "UpdateOptions");
  auto validation = field_validation_of(call->request, "UpdateOptions");
  if (!options) return answer(call, options.error());
  if (!validation) return answer(call, validation.error());
  auto body = read_object(call->request, *call->target.resource, *validation);
  if (!body) return answer(call, body.error());
  ReadBody& read = *body;
  warn(*call, std::move(read.warnings));
  options->empty_lists = std::move(read.empty_lists);
  registry_.update(call->target, std::move(read.document), *options,
                   [this, call](ApiResult<Answer> made) { answer(call, std::move(made)); });
}

void ApiServer::patch(std::shared_ptr<Call> call) {
  auto options = write_options_of(call->request, "PatchOptions");
  auto validation = field_validation_of(call->request, "PatchOptions");
  if (!options) return answer(call, options.error());
  if (!validation) return answer(call, validation.error());
  if (is_apply(call->request)) {
    const auto apply = check_apply(call->request, call->target);
    return answer(call, apply ? not_implemented(kApplyNotServed) : apply.error());
  }
  auto change = patch_change(call->request, *call->target.resource, *validation, call->patch_warnings);
  registry_.modify(call->target, std::move(change), *options, [this, call](ApiResult<Answer> made) {
    warn(*call, std::move(call->patch_warnings));
    answer(call, std::move(made));
  });
}

void ApiServer::remove(std::shared_ptr<Call> call) {
  auto options = read_delete_options(call->request);
  if (!options) return answer(call, options.error());
  WriteOptions write_options;
  write_options.user = call->request.user.name;
  registry_.remove(call->target, *options, std::move(write_options),
                   [this, call](ApiResult<Answer> made) { answer(call, std::move(made)); });
}

void ApiServer::remove_collection(std::shared_ptr<Call> call) {
  auto options = read_delete_options(call->request);
  auto listed = read_list_options(call->request);
  if (!options) return answer(call, options.error());
  if (!listed) return answer(call, listed.error());
  ListOptions selection = *listed;
  const ApiResult<HttpResponse> answered = list(registry_, call->target, selection, {});
  if (!answered) return answer(call, answered.error());
  const HttpResponse& found = *answered;
  auto matcher = make_matcher(*call->target.resource, selection.label_selector, selection.field_selector, "");
  if (!matcher) return answer(call, matcher.error());
  store::ListQuery query;
  query.resource = storage_resource(*call->target.resource);
  query.ns = call->target.ns;
  query.accept = *std::move(matcher);
  query.limit = selection.limit;
  const Result<store::ListPage> page = registry_.store().list(query);
  if (!page || page->objects.empty()) return respond(call, found);
  WriteOptions write_options;
  write_options.user = call->request.user.name;
  auto removal = std::make_shared<CollectionRemoval>();
  removal->left = page->objects.size();
  for (const store::ObjectPtr& object : page->objects) {
    ObjectTarget target = call->target;
    target.ns = object->key.ns;
    target.name = object->key.name;
    registry_.remove(std::move(target), *options, write_options,
                     [this, call, removal, found](const ApiResult<Answer>& removed) {
                       const std::optional<ApiResult<void>> outcome = removal->finish(removed);
                       if (!outcome) return;
                       if (!outcome->ok()) return answer(call, outcome->error());
                       respond(call, found);
                     });
  }
}

void ApiServer::list_or_watch(std::shared_ptr<Call> call) {
  auto read = read_list_options(call->request);
  if (!read) return answer(call, read.error());
  ListOptions options = *std::move(read);
  options.watch |= call->watch;
  if (!options.watch) {
    ApiResult<HttpResponse> page = list(registry_, call->target, options, call->rendering);
    if (!page) return answer(call, page.error());
    return respond(call, *std::move(page));
  }
  auto matcher =
      make_matcher(*call->target.resource, options.label_selector, options.field_selector, call->target.name);
  if (!matcher) return answer(call, matcher.error());
  audit(*call, 200, registry_.store().revision());
  watches_.open(call->target, options, call->rendering, *std::move(matcher), call->exchange);
}

void ApiServer::bind(std::shared_ptr<Call> call) {
  auto options = write_options_of(call->request, "CreateOptions");
  if (!options) return answer(call, options.error());
  auto body = read_document(call->request, *api::find_kind("v1", "Binding"));
  if (!body) return answer(call, body.error());
  ObjectTarget pod = call->target;
  pod.resource = api::find_resource("", "v1", "pods");
  // The older path, …/bindings, names the pod only in the body.
  if (pod.name.empty()) pod.name = metadata_of(*body).string_at("name");
  pod.subresource = "binding";
  ApiResult<Registry::Change> change = binding_change(pod, *body, registry_.dependencies().clock.now());
  if (!change) return answer(call, change.error());
  registry_.modify(std::move(pod), *std::move(change), *options,
                   [this, call](ApiResult<Answer> bound) { answer_done(call, std::move(bound)); });
}

void ApiServer::evict(std::shared_ptr<Call> call) {
  auto body = read_document(call->request, *api::find_kind("policy/v1", "Eviction"));
  if (!body) return answer(call, body.error());
  const Json& eviction = *body;
  const std::string_view name = metadata_of(eviction).string_at("name");
  if (!name.empty() && name != call->target.name)
    return answer(call, bad_request("name in URL does not match name in Eviction object"));
  ObjectTarget pod = call->target;
  pod.subresource.clear();
  if (const auto allowed = check_eviction(registry_, pod); !allowed) return answer(call, allowed.error());
  WriteOptions options;
  options.user = call->request.user.name;
  registry_.remove(std::move(pod), delete_options_of(eviction.part("deleteOptions")), std::move(options),
                   [this, call](ApiResult<Answer> evicted) { answer_done(call, std::move(evicted)); });
}

// What POSTs of subresources answer: a Status, not the object.
void ApiServer::answer_done(const std::shared_ptr<Call>& call, ApiResult<Answer> done) {
  if (done) {
    done->code = 201;
    done->object = nullptr;
    done->document = R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201})";
  }
  answer(call, std::move(done));
}

void ApiServer::audit(const Call& call, int code, store::Revision revision) const {
  if (!options_.audit) return;
  const ObjectTarget& target = call.target;
  std::string resource = qualified(target.resource_name());
  if (!target.subresource.empty()) resource += "/" + target.subresource;
  options_.audit({registry_.dependencies().clock.now(), call.request.user.name,
                  std::string(verb_of(call.request, target, is_watch(call))), std::move(resource), target.ns,
                  target.name.empty() ? call.created : target.name, code, revision});
}

void ApiServer::respond(const std::shared_ptr<Call>& call, HttpResponse response,
                        store::Revision revision) const {
  audit(*call, response.status, revision);
  for (const std::string& warning : call->warnings)
    response.headers.emplace_back("Warning", warning_header(warning));
  if (call->rendering.encoding == Encoding::Yaml) encode_as_yaml(response);
  call->exchange->respond(std::move(response));
}

void ApiServer::answer(const std::shared_ptr<Call>& call, ApiResult<Answer> made) {
  if (!made) return respond(call, made.error().to_response());
  const std::string& stored = made->object ? made->object->bytes : made->document;
  const bool is_status = !made->object && stored.rfind("{\"kind\":\"Status\"", 0) == 0;
  HttpResponse response = json_response(made->code, "");
  response.body = is_status ? stored
                            : render_one(*call->target.resource, made->object, stored, call->rendering,
                                         registry_.dependencies().clock.now());
  warn(*call, std::move(made->warnings));
  respond(call, std::move(response), made->object ? made->object->revision : 0);
}

}  // namespace berth::server
