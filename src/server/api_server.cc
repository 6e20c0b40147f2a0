#include "server/api_server.h"

#include <future>

#include "server/discovery.h"
#include "server/metadata.h"
#include "server/rendering.h"
#include "server/request_body.h"
#include "server/served.h"
#include "server/wire_form.h"

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

HttpResponse no_such_page() {
  return text_response(404, "404 page not found\n");
}

}  // namespace

struct ApiServer::Call {
  HttpRequest request;
  std::shared_ptr<HttpExchange> exchange;
  ObjectTarget target;
  Rendering rendering;
  std::vector<std::string> warnings;
  bool watch = false;
};

ApiServer::ApiServer(Registry::World world, ApiServerOptions options)
    : registry_(world), watches_(registry_), options_(std::move(options)) {}

Status ApiServer::make_default_objects() {
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    if (registry_.store().get({"namespaces", "", name})) continue;
    const api::ResourceInfo* resource = api::find_resource("", "v1", "namespaces");
    Json ns = Json::object({{"kind", "Namespace"},
                            {"apiVersion", "v1"},
                            {"metadata", Json::object({{"name", name}})},
                            {"spec", Json::object({{"finalizers", Json::array({"kubernetes"})}})},
                            {"status", Json::object({{"phase", "Active"}})}});
    ObjectTarget target{resource, "", "", ""};
    std::promise<std::optional<ApiStatus>> made;
    registry_.create(std::move(target), std::move(ns), {},
                     [&](Answer answer) { made.set_value(std::move(answer.status)); });
    if (const auto status = made.get_future().get(); status && status->code != 409)
      return Error(ErrorCode::Internal,
                   "cannot make namespace " + std::string(name) + ": " + status->message);
  }
  return {};
}

void ApiServer::handle(HttpRequest request, std::shared_ptr<HttpExchange> exchange) {
  const api::Gates& gates = registry_.world().gates;
  if (is_health_path(request.path)) {
    const bool up = ready_ || request.path.rfind("/readyz", 0) != 0;
    return exchange->respond(text_response(up ? 200 : 500, up ? "ok" : "not ready"));
  }
  const ParsedPath path = parse_path(request.path);
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
  if (misplaced || unknown_subresource) return answer(call, Answer::failed(path_not_found()));
  auto rendering = rendering_of(call->request);
  if (auto* status = std::get_if<ApiStatus>(&rendering))
    return answer(call, Answer::failed(std::move(*status)));
  call->rendering = std::get<Rendering>(rendering);
  const std::string* watch = call->request.parameter("watch");
  const bool watches = call->watch || (watch && *watch != "0" && *watch != "false");
  const bool lists = call->request.method == "GET" && target.name.empty() && !watches;
  const bool either_form = watches || call->request.method == "DELETE";
  if (either_form && call->rendering.form == Form::MetadataList) call->rendering.form = Form::Metadata;
  if (!either_form)
    if (const auto status = check_metadata_form(call->rendering, *target.resource, lists))
      return answer(call, Answer::failed(*status));
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
  answer(call, Answer::failed(method_not_allowed()));
}

void ApiServer::handle_object(std::shared_ptr<Call> call) {
  const std::string& method = call->request.method;
  if (method == "GET" && call->watch) return list_or_watch(std::move(call));
  if (method == "GET") return get(call);
  if (method == "PUT") return replace(std::move(call));
  if (method == "PATCH") return patch(std::move(call));
  if (method == "DELETE") return remove(std::move(call));
  answer(call, Answer::failed(method_not_allowed()));
}

void ApiServer::handle_subresource(std::shared_ptr<Call> call) {
  const std::string& method = call->request.method;
  const std::string& subresource = call->target.subresource;
  if (subresource == "binding" && method == "POST") return bind(std::move(call));
  if (subresource == "log" && method == "GET")
    return call->exchange->respond(text_response(200, "simulated pod: it writes no logs\n"));
  if (subresource == "exec" || subresource == "attach" || subresource == "portforward" ||
      subresource == "proxy")
    return answer(call, Answer::failed(not_implemented("simulated pods have no processes: " + subresource +
                                                       " is not available here")));
  const bool document = subresource == "status" || subresource == "finalize" || subresource == "resize" ||
                        subresource == "approval" || subresource == "ephemeralcontainers";
  if (!document) return answer(call, Answer::failed(method_not_allowed()));
  if (method == "GET") return get(call);
  if (method == "PUT") return replace(std::move(call));
  if (method == "PATCH") return patch(std::move(call));
  answer(call, Answer::failed(method_not_allowed()));
}

void ApiServer::get(const std::shared_ptr<Call>& call) {
  auto read = read_list_options(call->request);
  if (auto* status = std::get_if<ApiStatus>(&read)) return answer(call, Answer::failed(std::move(*status)));
  const std::optional<store::Revision> version = std::get<ListOptions>(read).version;
  const store::Revision newest = registry_.store().revision();
  if (version && *version > newest) return answer(call, Answer::failed(too_large_version(*version, newest)));
  answer(call, registry_.get(call->target));
}

void ApiServer::create(std::shared_ptr<Call> call) {
  auto options = write_options_of(call->request, "CreateOptions");
  auto validation = field_validation_of(call->request, "CreateOptions");
  if (auto* status = std::get_if<ApiStatus>(&options)) return answer(call, Answer::failed(*status));
  if (auto* status = std::get_if<ApiStatus>(&validation)) return answer(call, Answer::failed(*status));
  auto body = read_object(call->request, *call->target.resource, std::get<FieldValidation>(validation));
  if (auto* status = std::get_if<ApiStatus>(&body)) return answer(call, Answer::failed(*status));
  ReadBody& read = std::get<ReadBody>(body);
  call->warnings = std::move(read.warnings);
  registry_.create(call->target, std::move(read.document), std::get<WriteOptions>(options),
                   [this, call](Answer made) { answer(call, std::move(made)); });
}

void ApiServer::replace(std::shared_ptr<Call> call) {
  auto options = write_options_of(call->request, "UpdateOptions");
  auto validation = field_validation_of(call->request, "UpdateOptions");
  if (auto* status = std::get_if<ApiStatus>(&options)) return answer(call, Answer::failed(*status));
  if (auto* status = std::get_if<ApiStatus>(&validation)) return answer(call, Answer::failed(*status));
  auto body = read_object(call->request, *call->target.resource, std::get<FieldValidation>(validation));
  if (auto* status = std::get_if<ApiStatus>(&body)) return answer(call, Answer::failed(*status));
  ReadBody& read = std::get<ReadBody>(body);
  call->warnings = std::move(read.warnings);
  registry_.update(call->target, std::move(read.document), std::get<WriteOptions>(options),
                   [this, call](Answer made) { answer(call, std::move(made)); });
}

void ApiServer::patch(std::shared_ptr<Call> call) {
  auto options = write_options_of(call->request, "PatchOptions");
  auto validation = field_validation_of(call->request, "PatchOptions");
  if (auto* status = std::get_if<ApiStatus>(&options)) return answer(call, Answer::failed(*status));
  if (auto* status = std::get_if<ApiStatus>(&validation)) return answer(call, Answer::failed(*status));
  auto change = patch_change(call->request, *call->target.resource, std::get<FieldValidation>(validation),
                             call->warnings);
  registry_.modify(call->target, std::move(change), std::get<WriteOptions>(options),
                   [this, call](Answer made) { answer(call, std::move(made)); });
}

void ApiServer::remove(std::shared_ptr<Call> call) {
  auto options = read_delete_options(call->request);
  if (auto* status = std::get_if<ApiStatus>(&options)) return answer(call, Answer::failed(*status));
  WriteOptions write_options;
  write_options.user = call->request.user.name;
  registry_.remove(call->target, std::get<DeleteOptions>(options), std::move(write_options),
                   [this, call](Answer made) { answer(call, std::move(made)); });
}

void ApiServer::remove_collection(std::shared_ptr<Call> call) {
  auto options = read_delete_options(call->request);
  auto listed = read_list_options(call->request);
  if (auto* status = std::get_if<ApiStatus>(&options)) return answer(call, Answer::failed(*status));
  if (auto* status = std::get_if<ApiStatus>(&listed)) return answer(call, Answer::failed(*status));
  ListOptions selection = std::get<ListOptions>(listed);
  const HttpResponse found = list(registry_, call->target, selection, {});
  auto matcher = make_matcher(*call->target.resource, selection.label_selector, selection.field_selector, "");
  if (found.status != 200 || std::holds_alternative<ApiStatus>(matcher))
    return call->exchange->respond(found);
  store::ListQuery query;
  query.resource = storage_resource(*call->target.resource);
  query.ns = call->target.ns;
  query.accept = std::get<Matcher>(std::move(matcher));
  query.limit = selection.limit;
  const Result<store::ListPage> page = registry_.store().list(query);
  if (page)
    for (const store::ObjectPtr& object : page->objects) {
      ObjectTarget target = call->target;
      target.ns = object->key.ns;
      target.name = object->key.name;
      registry_.remove(std::move(target), std::get<DeleteOptions>(options), {}, [](Answer) {});
    }
  call->exchange->respond(found);
}

void ApiServer::list_or_watch(std::shared_ptr<Call> call) {
  auto read = read_list_options(call->request);
  if (auto* status = std::get_if<ApiStatus>(&read)) return answer(call, Answer::failed(*status));
  ListOptions options = std::get<ListOptions>(std::move(read));
  options.watch |= call->watch;
  if (!options.watch) return call->exchange->respond(list(registry_, call->target, options, call->rendering));
  auto matcher =
      make_matcher(*call->target.resource, options.label_selector, options.field_selector, call->target.name);
  if (auto* status = std::get_if<ApiStatus>(&matcher)) return answer(call, Answer::failed(*status));
  watches_.open(call->target, options, call->rendering, std::get<Matcher>(std::move(matcher)),
                call->exchange);
}

void ApiServer::bind(std::shared_ptr<Call> call) {
  auto options = write_options_of(call->request, "CreateOptions");
  if (auto* status = std::get_if<ApiStatus>(&options)) return answer(call, Answer::failed(*status));
  auto body = read_document(call->request, *api::find_kind("v1", "Binding"));
  if (auto* status = std::get_if<ApiStatus>(&body)) return answer(call, Answer::failed(*status));
  registry_.bind(call->target, std::get<Json>(body), std::get<WriteOptions>(options),
                 [this, call](Answer bound) {
                   if (!bound.status) {
                     bound.object = nullptr;
                     bound.document =
                         R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201})";
                   }
                   answer(call, std::move(bound));
                 });
}

void ApiServer::answer(const std::shared_ptr<Call>& call, Answer made) {
  if (options_.audit) {
    const ObjectTarget& target = call->target;
    options_.audit(
        {registry_.world().clock.now(), call->request.user.name,
         std::string(verb_of(call->request, target, call->watch)),
         qualified(target.resource_name()) + (target.subresource.empty() ? "" : "/" + target.subresource),
         target.ns, target.name, made.code, made.object ? made.object->revision : 0});
  }
  HttpResponse response = made.status ? made.status->to_response() : json_response(made.code, "");
  const std::string& stored = made.object ? made.object->bytes : made.document;
  const bool is_status = !made.object && stored.rfind("{\"kind\":\"Status\"", 0) == 0;
  if (is_status)
    response.body = stored;
  else if (!made.status)
    response.body = render_one(*call->target.resource, made.object, stored, call->rendering,
                               registry_.world().clock.now());
  for (const auto* warnings : {&call->warnings, &made.warnings})
    for (const std::string& warning : *warnings)
      response.headers.emplace_back("Warning", warning_header(warning));
  call->exchange->respond(std::move(response));
}

}  // namespace berth::server
