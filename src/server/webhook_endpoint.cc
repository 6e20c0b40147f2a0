#include "server/webhook_endpoint.h"

#include <algorithm>

#include "api/names.h"
#include "base/json.h"

namespace berth::server {
namespace {

constexpr std::size_t kQuotedAnswerBytesMax = 1024;
constexpr std::string_view kHttps = "https://";

// As Go's path.Join("/", path): without empty and "." parts, without what ".." leaves, without a slash at the
// end. Clients of the reference send it so: controller-runtime's envtest writes URLs with two slashes.
std::string cleaned_path(std::string_view path) {
  std::string cleaned;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part == "..")
      cleaned.resize(cleaned.empty() ? 0 : cleaned.rfind('/'));
    else
      cleaned.append("/").append(part);
  }
  return cleaned.empty() ? "/" : cleaned;
}

std::string service_url_of(const crd::WebhookClient& client) {
  std::string url(kHttps);
  url.append(client.service_name).append(".").append(client.service_ns).append(".svc:");
  url.append(std::to_string(client.service_port));
  if (!client.service_path.empty() && !client.service_path.starts_with('/')) url += '/';
  return url.append(client.service_path);
}

Error bad_service(const std::string& text) {
  return Error(ErrorCode::Invalid, "\"" + text + "\" is not NAMESPACE/NAME=https://HOST:PORT");
}

}  // namespace

Result<WebhookServices> WebhookServices::parse(const std::vector<std::string>& texts) {
  WebhookServices services;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('='), slash = text.find('/');
    if (equals == std::string::npos || slash > equals) return bad_service(text);
    const std::string ns = text.substr(0, slash), name = text.substr(slash + 1, equals - slash - 1);
    const std::string address = text.substr(equals + 1);
    const bool is_server = address.starts_with(kHttps) && address.size() > kHttps.size() &&
                           address.find_first_of("/?#@", kHttps.size()) == std::string::npos;
    if (!api::dns_label_problems(ns).empty() || !api::dns_label_problems(name).empty() || !is_server)
      return bad_service(text);
    if (!services.addresses_.emplace(ns + "/" + name, address).second)
      return Error(ErrorCode::Invalid, "the Service " + ns + "/" + name + " has two addresses");
  }
  return services;
}

const std::string* WebhookServices::find(std::string_view ns, std::string_view name) const {
  const auto found = addresses_.find(std::string(ns).append("/").append(name));
  return found == addresses_.end() ? nullptr : &found->second;
}

WebhookEndpoint endpoint_of(const crd::WebhookClient& client, const WebhookServices& services) {
  const bool by_url = !client.url.empty();
  WebhookEndpoint endpoint;
  const std::string url = by_url ? client.url : service_url_of(client);
  const std::size_t path = std::min(url.find('/', kHttps.size()), url.size());
  endpoint.server = url.substr(0, path);
  endpoint.target = cleaned_path(std::string_view(url).substr(path));
  endpoint.shown_url = endpoint.server + endpoint.target;
  endpoint.ca_pem = client.ca_pem;
  if (by_url) return endpoint;
  endpoint.certificate_name = client.service_name + "." + client.service_ns + ".svc";
  if (const std::string* address = services.find(client.service_ns, client.service_name))
    endpoint.server = *address;
  else
    endpoint.unreachable = "this server does not reach Services: start it with --webhook-service " +
                           client.service_ns + "/" + client.service_name +
                           "=https://HOST:PORT, or name a URL in clientConfig.url";
  return endpoint;
}

std::string timeout_query(Duration timeout) {
  return "?timeout=" + std::to_string(timeout.whole_seconds()) + "s";
}

std::string call_text(const WebhookEndpoint& endpoint, Duration timeout) {
  return "Post " + to_string(Json(endpoint.shown_url + timeout_query(timeout))) + ": ";
}

std::string refusal_text(const client::HttpReply& reply) {
  const Result<Json> body = parse_json(reply.body);
  if (body && body->string_at("kind") == "Status" && !body->string_at("message").empty())
    return std::string(body->string_at("message"));
  if (reply.status == 401) return "the server has asked for the client to provide credentials";
  if (reply.status == 404) return "the server could not find the requested resource";
  if (reply.status < 500)
    return "the server responded with the status code " + std::to_string(reply.status) +
           " but did not return more details";
  std::string said = reply.body.empty() ? "unknown" : reply.body.substr(0, kQuotedAnswerBytesMax);
  return "an error on the server (" + to_string(Json(said)) + ") has prevented the request from succeeding";
}

}  // namespace berth::server
