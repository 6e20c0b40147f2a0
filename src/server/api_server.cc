#include "server/api_server.h"

#include "base/ascii.h"
#include "server/authentication.h"
#include "server/default_objects.h"
#include "server/discovery.h"
#include "server/rendering.h"
#include "server/served.h"

namespace berth::server {
namespace {

HttpResponse no_such_page() {
  return text_response(404, "404 page not found\n");
}

// Groups of which definitions alone have resources.
bool is_custom_group(std::string_view group, const ServedSet& served) {
  for (const api::ResourceInfo* row : served.rows())
    if (row->group == group && !row->custom) return false;
  return true;
}

HttpResponse refused(const HttpRequest& request, const ApiStatus& status) {
  return encoded(status.to_response(), status_encoding(request));
}

FlowAttributes flow_attributes(const HttpRequest& request, const ParsedPath& path) {
  if (path.kind != PathKind::Resource)
    return {.user = request.user, .verb = to_lower(request.method), .path = request.path};
  const ResourcePath& of = path.resource;
  return {.user = request.user,
          .verb = std::string(verb_of(request, of)),
          .group = of.group,
          .resource = of.subresource.empty() ? of.resource : of.resource + "/" + of.subresource,
          .ns = of.ns};
}

// Below a served group the 404 has a Status; below a group of custom resources it is the page of unknown
// paths.
HttpResponse no_such_resource(std::string_view group, const ServedSet& served) {
  const bool known = served.has_group(group) && !is_custom_group(group, served);
  return known ? path_not_found().to_response() : no_such_page();
}

}  // namespace

ApiServer::ApiServer(Registry::Dependencies world, ApiServerOptions options)
    : conversions_(world.random, options.webhook_services, options.conversion_timeout),
      registry_(world, options.recent_documents_bytes),
      flows_(registry_),
      access_(registry_),
      tokens_(options.token_key ? std::make_unique<ServiceAccountTokens>(registry_, *options.token_key)
                                : nullptr),
      token_secrets_(tokens_ ? std::make_unique<TokenSecrets>(registry_, *tokens_) : nullptr),
      served_(world.gates, conversions_),
      custom_(registry_, served_),
      garbage_(registry_, served_),
      own_(registry_, served_),
      signer_(registry_),
      webhooks_(registry_, access_, served_, options.webhook_services),
      watches_(registry_),
      lists_(registry_),
      options_(std::move(options)),
      resources_(registry_, access_, tokens_.get(), watches_, lists_, custom_, options_.audit,
                 options_.warn_unacted, options_.unacted) {
  registry_.set_access(access_);
  registry_.set_certificate_signer(signer_);
  registry_.set_flow_control(flows_);
  if (token_secrets_) registry_.set_token_secrets(*token_secrets_);
  registry_.set_pod_accounts(options_.pod_accounts);
  if (options_.collect_custom_garbage) registry_.set_foreground_hold(garbage_);
  if (options_.calls_admission_webhooks) registry_.set_admission_webhooks(webhooks_);
}

// What runs on the threads of lanes uses the members below.
ApiServer::~ApiServer() {
  stop_webhooks();
}

Status ApiServer::make_default_objects() {
  return server::make_default_objects(registry_);
}

Status ApiServer::make_bootstrap_roles() {
  return server::make_bootstrap_roles(registry_);
}

Status ApiServer::make_flow_objects() {
  return server::make_flow_objects(registry_);
}

void ApiServer::fill_token_secrets(std::string ca) {
  if (token_secrets_) token_secrets_->begin(std::move(ca));
}

// Before anything is served.
void ApiServer::keep_own_objects(ServerAddress address) {
  const bool is_v6 = address.ip.find(':') != std::string::npos;
  url_ = "https://" + (is_v6 ? "[" + address.ip + "]" : address.ip) + ":" + std::to_string(address.port);
  own_.begin(std::move(address));
}

void ApiServer::handle(HttpRequest request, std::shared_ptr<HttpExchange> exchange) {
  if (const std::optional<HealthPath> health = health_path(request.path))
    return exchange->respond(this->health(health->page, health->check, request.parameter("verbose")));
  ApiResult<User> user = authenticate(request, access_, tokens_.get());
  if (!user) return exchange->respond(refused(request, user.error()));
  request.user = *std::move(user);
  ParsedPath path = parse_path(request.path);
  if (request.in_process) return dispatch(std::move(request), path, std::move(exchange));
  const Encoding encoding = status_encoding(request);
  const std::size_t body_bytes = request.body.size();
  const auto asked =
      std::make_shared<std::pair<HttpRequest, ParsedPath>>(std::move(request), std::move(path));
  flows_.admit(
      flow_attributes(asked->first, asked->second),
      {std::move(exchange), body_bytes, encoding, [this, asked](std::shared_ptr<HttpExchange> seated) {
         dispatch(std::move(asked->first), asked->second, std::move(seated));
       }});
}

void ApiServer::dispatch(HttpRequest request, const ParsedPath& path,
                         std::shared_ptr<HttpExchange> exchange) {
  if (path.kind != PathKind::Resource) {
    ApiResult<HttpResponse> shown = page(request, path);
    return exchange->respond(shown ? *std::move(shown) : refused(request, shown.error()));
  }
  ServedPtr served = served_.now();
  const api::ResourceInfo* resource =
      served->find(path.resource.group, path.resource.version, path.resource.resource);
  if (!resource)
    return exchange->respond(
        encoded(no_such_resource(path.resource.group, *served), status_encoding(request)));
  resources_.handle(std::move(request), *resource, std::move(served), path.resource, std::move(exchange));
}

// Only readiness asks the store: a full disk ends no process that is alive.
std::string ApiServer::health_problem(std::string_view page, std::string_view check) const {
  if (page != "readyz" || check == "ping" || check == "log") return "";
  if (!ready_) return "not ready";
  const Status store = registry_.store().health();
  return store.ok() ? "" : "not ready: " + store.error().message();
}

// The same as Kubernetes' service level indicators.
std::string ApiServer::health_metrics() const {
  std::string text =
      "# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.\n"
      "# TYPE kubernetes_healthcheck gauge\n";
  for (std::string_view page : kHealthPages)
    for (std::string_view check : kHealthChecks)
      text.append("kubernetes_healthcheck{name=\"")
          .append(check)
          .append("\",type=\"")
          .append(page)
          .append(health_problem(page, check).empty() ? "\"} 1\n" : "\"} 0\n");
  return text;
}

HttpResponse ApiServer::health(std::string_view page, std::string_view check, bool verbose) const {
  const std::string problem = health_problem(page, check);
  if (!verbose || !check.empty())
    return problem.empty() ? text_response(200, "ok") : text_response(500, problem);
  std::string lines;
  for (std::string_view name : kHealthChecks) {
    const bool failed = name == "etcd" && !problem.empty();
    lines.append(failed ? "[-]" : "[+]")
        .append(name)
        .append(failed ? " failed: " + problem : " ok")
        .append("\n");
  }
  lines.append(page).append(problem.empty() ? " check passed\n" : " check failed\n");
  return text_response(problem.empty() ? 200 : 500, lines);
}

std::optional<HttpResponse> ApiServer::token_page(std::string_view path) const {
  if (!tokens_) return std::nullopt;
  if (path == "/.well-known/openid-configuration")
    return json_response(200, to_string(tokens_->discovery_document(url_)));
  if (path == "/openid/v1/jwks")
    return HttpResponse{200, {{"Content-Type", "application/jwk-set+json"}}, to_string(tokens_->key_set())};
  return std::nullopt;
}

ApiResult<HttpResponse> ApiServer::page(const HttpRequest& request, const ParsedPath& path) {
  TRY(check_timeout(request));
  TRY(access_.authorize_path(request.user, request.method, request.path));
  if (request.path == "/metrics" && options_.metrics)
    return HttpResponse{
        200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, options_.metrics()};
  if (request.path == "/metrics/slis")
    return HttpResponse{
        200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, health_metrics()};
  if (options_.dashboard && request.method == "GET" && (request.path == "/ui/" || request.path == "/ui"))
    if (std::string address = options_.dashboard(); !address.empty())
      return HttpResponse{303, {{"Location", std::move(address)}, {"Cache-Control", "no-store"}}, ""};
  if (options_.pages && request.method == "GET")
    if (std::optional<std::string> json = options_.pages(request.path))
      return json_response(200, *std::move(json));
  if (std::optional<HttpResponse> document = token_page(request.path)) return *std::move(document);
  const ServedPtr served = served_.now();
  if (std::optional<HttpResponse> document = discovery(request, path, *served)) return *std::move(document);
  if (path.kind == PathKind::GroupVersion) return no_such_resource(path.resource.group, *served);
  return no_such_page();
}

}  // namespace berth::server
