#include "server/openapi.h"

#include <array>

#include "api/type_table.h"
#include "server/served.h"
#include "server/status.h"

namespace berth::server {
namespace {

constexpr std::string_view kV3 = "/openapi/v3";

// The smallest OpenAPI v2 document in protobuf: swagger 2.0, a title, no paths, no definitions. Clients that
// find a kind missing there do not validate it themselves; the server does.
HttpResponse v2() {
  static constexpr unsigned char kDocument[] = {0x0a, 0x03, 0x32, 0x2e, 0x30, 0x12, 0x0b, 0x0a,
                                                0x05, 0x62, 0x65, 0x72, 0x74, 0x68, 0x12, 0x02,
                                                0x76, 0x31, 0x42, 0x00, 0x4a, 0x00};
  HttpResponse response{200, {}, std::string(reinterpret_cast<const char*>(kDocument), sizeof kDocument)};
  response.headers.emplace_back("Content-Type", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
  return response;
}

std::string group_version_path(const api::ResourceInfo& resource) {
  if (resource.group.empty()) return "api/" + std::string(resource.version);
  return "apis/" + std::string(resource.group) + "/" + std::string(resource.version);
}

HttpResponse index(const api::Gates& gates) {
  Json paths = Json::object();
  for (const api::ResourceInfo& resource : api::resources()) {
    if (!is_served(resource, gates)) continue;
    const std::string path = group_version_path(resource);
    paths[path] = Json::object({{"serverRelativeURL", std::string(kV3) + "/" + path + "?hash=berth1"}});
  }
  return text_response(200, to_string(Json::object({{"paths", std::move(paths)}})));
}

Json kind_of(const api::ResourceInfo& resource) {
  return Json::object({{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}});
}

Json query_parameters() {
  JsonArray parameters;
  for (const char* name : {"dryRun", "fieldManager", "fieldValidation", "force"})
    parameters.push_back(
        Json::object({{"name", name},
                      {"in", "query"},
                      {"schema", Json::object({{"type", "string"}, {"uniqueItems", true}})}}));
  return parameters;
}

// One PATCH operation per kind: what kubectl looks for before it asks the server to validate fields.
Json path_item(const api::ResourceInfo& resource) {
  Json patch = Json::object({{"x-kubernetes-action", "patch"},
                             {"x-kubernetes-group-version-kind", kind_of(resource)},
                             {"parameters", query_parameters()},
                             {"responses", Json::object({{"200", Json::object({{"description", "OK"}})}})}});
  return Json::object({{"patch", std::move(patch)}});
}

std::optional<HttpResponse> document(std::string_view path, const api::Gates& gates) {
  Json paths = Json::object();
  for (const api::ResourceInfo& resource : api::resources()) {
    if (!is_served(resource, gates) || group_version_path(resource) != path) continue;
    const std::string scope = resource.namespaced ? "/namespaces/{namespace}/" : "/";
    paths["/" + std::string(path) + scope + std::string(resource.plural) + "/{name}"] = path_item(resource);
  }
  if (paths.as_object().empty()) return std::nullopt;
  return json_response(
      200, to_string(Json::object({{"openapi", "3.0.0"},
                                   {"info", Json::object({{"title", "Kubernetes"}, {"version", "v1.37.0"}})},
                                   {"paths", std::move(paths)},
                                   {"components", Json::object({{"schemas", Json::object()}})}})));
}

}  // namespace

std::optional<HttpResponse> openapi(const HttpRequest& request, const api::Gates& gates) {
  const std::string_view path = request.path;
  if (path == "/openapi/v2") return v2();
  if (path == kV3) return index(gates);
  if (path.substr(0, kV3.size() + 1) == std::string(kV3) + "/")
    return document(path.substr(kV3.size() + 1), gates).value_or(HttpResponse{404, {}, ""});
  return std::nullopt;
}

}  // namespace berth::server
