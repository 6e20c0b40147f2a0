#include "server/openapi.h"

#include <cstdint>
#include <span>

#include "api/gates.h"
#include "api/type_table.h"
#include "server/openapi_schema.h"
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

// Changes whenever a document may: clients cache documents by it. Gates decide which kinds are served.
std::string documents_hash(const ServedSet& served) {
  constexpr int kRevision = 3;  // of the generator of documents
  std::uint64_t hash = 14695981039346656037u + kRevision;
  for (const api::GateInfo& gate : api::gate_table())
    hash = (hash ^ static_cast<std::uint64_t>(served.gates().enabled(gate.name) ? 2 : 1)) * 1099511628211u;
  for (const char c : served.fingerprint()) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return "berth" + std::to_string(hash);
}

HttpResponse index(const ServedSet& served) {
  Json paths = Json::object();
  const std::string hash = documents_hash(served);
  for (const api::ResourceInfo* resource : served.rows()) {
    const std::string path = group_version_path(*resource);
    paths[path] = Json::object({{"serverRelativeURL", std::string(kV3) + "/" + path + "?hash=" + hash}});
  }
  return text_response(200, to_string(Json::object({{"paths", std::move(paths)}})));
}

Json kind_of(const api::ResourceInfo& resource) {
  return Json::object({{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}});
}

Json query_parameters() {
  JsonArray parameters;
  for (const char* name : {"dryRun", "fieldManager", "fieldValidation", "force"}) {
    const char* type = std::string_view(name) == "force" ? "boolean" : "string";
    parameters.push_back(Json::object({{"name", name},
                                       {"in", "query"},
                                       {"schema", Json::object({{"type", type}, {"uniqueItems", true}})}}));
  }
  return parameters;
}

// "coordination" of coordination.k8s.io, "rbacAuthorization" of rbac.authorization.k8s.io.
std::string group_word(std::string_view group) {
  if (group.empty()) return "core";
  constexpr std::string_view kEnd = ".k8s.io";
  if (group.ends_with(kEnd)) group.remove_suffix(kEnd.size());
  std::string word;
  bool upper = false;
  for (const char c : group) {
    if (c != '.') word += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = c == '.';
  }
  return word;
}

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

// The same schema under each media type.
Json content(std::span<const std::string_view> media_types, const std::string& schema) {
  Json all = Json::object();
  for (std::string_view media : media_types)
    all[media] = Json::object({{"schema", Json::object({{"$ref", "#/components/schemas/" + schema}})}});
  return Json::object({{"content", std::move(all)}});
}

// What clients may send and receive; a custom resource has no Go type, so neither strategic merge patches nor
// protobuf. kubectl chooses the patch that it sends by the first list.
constexpr std::string_view kPatchTypes[] = {"application/apply-patch+yaml", "application/json-patch+json",
                                            "application/merge-patch+json",
                                            "application/strategic-merge-patch+json"};
constexpr std::string_view kAnswerTypes[] = {"application/json", "application/yaml",
                                             "application/vnd.kubernetes.protobuf"};

std::span<const std::string_view> patch_types(const api::ResourceInfo& resource) {
  return std::span(kPatchTypes).first(std::size(kPatchTypes) - (resource.custom ? 1 : 0));
}

std::span<const std::string_view> answer_types(const api::ResourceInfo& resource) {
  return std::span(kAnswerTypes).first(std::size(kAnswerTypes) - (resource.custom ? 1 : 0));
}

// One PATCH operation per kind: kubectl checks for it before it lets the server validate fields.
Json path_item(const api::ResourceInfo& resource) {
  const std::string word = group_word(resource.group);
  const std::string object = schema_name(resource);
  Json body = content(patch_types(resource), "io.k8s.apimachinery.pkg.apis.meta.v1.Patch");
  body["required"] = true;
  Json answer = content(answer_types(resource), object);
  Json responses = Json::object();
  responses["200"] = answer;
  responses["201"] = std::move(answer);
  responses["401"] = Json::object();
  responses["200"]["description"] = "OK";
  responses["201"]["description"] = "Created";
  responses["401"]["description"] = "Unauthorized";
  const std::string id = "patch" + capitalized(word) + capitalized(std::string(resource.version)) +
                         (resource.namespaced ? "Namespaced" : "") + std::string(resource.kind);
  Json patch = Json::object({{"tags", Json::array({word + "_" + std::string(resource.version)})},
                             {"operationId", id},
                             {"parameters", query_parameters()},
                             {"requestBody", std::move(body)},
                             {"responses", std::move(responses)},
                             {"x-kubernetes-action", "patch"},
                             {"x-kubernetes-group-version-kind", kind_of(resource)}});
  return Json::object({{"patch", std::move(patch)}});
}

std::optional<HttpResponse> document(std::string_view path, const ServedSet& served) {
  Json paths = Json::object();
  const api::ResourceInfo* first = nullptr;
  for (const api::ResourceInfo* resource : served.rows()) {
    if (group_version_path(*resource) != path) continue;
    if (!first) first = resource;
    const std::string scope = resource->namespaced ? "/namespaces/{namespace}/" : "/";
    paths["/" + std::string(path) + scope + std::string(resource->plural) + "/{name}"] = path_item(*resource);
  }
  if (!first) return std::nullopt;
  const Json components = Json::object({{"schemas", schemas_of(first->group, first->version, served)}});
  HttpResponse response = json_response(
      200, to_string(Json::object({{"openapi", "3.0.0"},
                                   {"info", Json::object({{"title", "Kubernetes"}, {"version", "v1.37.0"}})},
                                   {"paths", std::move(paths)},
                                   {"components", components}})));
  response.headers.emplace_back("Vary", "Accept");
  return response;
}

}  // namespace

std::optional<HttpResponse> openapi(const HttpRequest& request, const ServedSet& served) {
  const std::string_view path = request.path;
  if (path == "/openapi/v2") return v2();
  if (path == kV3) return index(served);
  if (path.substr(0, kV3.size() + 1) == std::string(kV3) + "/")
    return document(path.substr(kV3.size() + 1), served).value_or(HttpResponse{404, {}, ""});
  return std::nullopt;
}

}  // namespace berth::server
