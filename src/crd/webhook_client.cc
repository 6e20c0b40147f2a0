#include "crd/webhook_client.h"

#include <algorithm>

#include "api/names.h"
#include "base/base64.h"
#include "cel/url_text.h"

namespace berth::crd {
namespace {

using api::FieldErrors;
using api::FieldPath;

void check_service_path(FieldErrors& errors, std::string_view text, const FieldPath& path) {
  if (text.empty() || text == "/") return;
  const auto refuse_segment = [&](std::size_t at, std::string_view why) {
    errors.push_back(api::invalid(path, text, "segment[" + std::to_string(at) + "]" + std::string(why)));
  };
  if (text == "//") return refuse_segment(0, " may not be empty");
  if (text.front() != '/') errors.push_back(api::invalid(path, text, "must start with a '/'"));
  std::string_view rest = text.substr(1);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  for (std::size_t at = 0;; ++at) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    if (end == 0) refuse_segment(at, " may not be empty");
    if (end > 0)
      for (const std::string& problem : api::dns_subdomain_problems(rest.substr(0, end)))
        refuse_segment(at, ": " + problem);
    if (end == rest.size()) return;
    rest.remove_prefix(end + 1);
  }
}

}  // namespace

WebhookClient read_webhook_client(const Json& config) {
  WebhookClient client;
  client.url = config.string_at("url");
  const Json& service = config.part("service");
  client.service_ns = service.string_at("namespace");
  client.service_name = service.string_at("name");
  client.service_path = service.string_at("path");
  client.service_port = service.int_at("port", client.service_port);
  client.ca_pem = base64_decode(config.string_at("caBundle")).value_or("");
  return client;
}

void check_webhook_url(FieldErrors& errors, const std::string& url, const FieldPath& path) {
  constexpr std::string_view kForm = "; desired format: https://host[/path]";
  cel::UrlParts parts;
  if (const std::string fault = cel::parse_url(url, cel::UrlForm::Reference, parts); !fault.empty())
    return errors.push_back(api::required(
        path, "url must be a valid URL: parse " + to_string(Json(url)) + ": " + fault + std::string(kForm)));
  if (parts.scheme != "https")
    errors.push_back(
        api::invalid(path, parts.scheme, "'https' is the only allowed URL scheme" + std::string(kForm)));
  if (parts.host.empty())
    errors.push_back(api::invalid(path, "", "host must be specified" + std::string(kForm)));
  if (parts.user)
    errors.push_back(api::invalid(path, *parts.user, "user information is not permitted in the URL"));
  if (!parts.fragment.empty())
    errors.push_back(api::invalid(path, parts.fragment, "fragments are not permitted in the URL"));
  if (!parts.query.empty())
    errors.push_back(api::invalid(path, parts.query, "query parameters are not permitted in the URL"));
}

void check_webhook_service(FieldErrors& errors, const Json& service, const FieldPath& path) {
  // Kubernetes names the other one of the two.
  if (service.string_at("namespace").empty()) errors.push_back(api::required(path.child("name")));
  if (service.string_at("name").empty()) errors.push_back(api::required(path.child("namespace")));
  constexpr std::int64_t kPortMax = 65'535, kDefaultPort = 443;
  const std::int64_t port = service.int_at("port", kDefaultPort);
  if (port < 1 || port > kPortMax)
    errors.push_back(api::invalid(path.child("port"), Json(port),
                                  "port is not valid: must be between 1 and 65535, inclusive"));
  check_service_path(errors, service.string_at("path"), path.child("path"));
}

}  // namespace berth::crd
