#include "server/openapi_operations.h"

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string_view>

#include "server/openapi_schema.h"
#include "server/served.h"

namespace berth::server {
namespace {

enum class Scope { AllNamespaces, Collection, Object };
enum class BodyOf { None, Object, Patch, DeleteOptions };
enum class AnswerOf { Object, List, Status };

// One verb at one path. A verb of a resource that it does not have has no operation.
struct OperationRow {
  std::string_view verb, method, action;
  std::string_view word;  // that begins the operation's id
  Scope scope;
  BodyOf body = BodyOf::None;
  AnswerOf answer = AnswerOf::Object;
  bool creates = false;  // 201 too
  std::string_view parameters = {};
};
constexpr std::string_view kListParameters =
    "allowWatchBookmarks:boolean,continue:string,fieldSelector:string,labelSelector:string,limit:integer,"
    "resourceVersion:string,resourceVersionMatch:string,sendInitialEvents:boolean,timeoutSeconds:integer,"
    "watch:boolean";
constexpr std::string_view kDeleteParameters =
    "dryRun:string,gracePeriodSeconds:integer,orphanDependents:boolean,propagationPolicy:string";
constexpr std::string_view kWriteParameters = "dryRun:string,fieldManager:string,fieldValidation:string";
constexpr OperationRow kOperations[] = {
    {"list", "get", "list", "list", Scope::AllNamespaces, BodyOf::None, AnswerOf::List, false,
     kListParameters},
    {"list", "get", "list", "list", Scope::Collection, BodyOf::None, AnswerOf::List, false, kListParameters},
    {"create", "post", "post", "create", Scope::Collection, BodyOf::Object, AnswerOf::Object, true,
     kWriteParameters},
    {"deletecollection", "delete", "deletecollection", "delete", Scope::Collection, BodyOf::DeleteOptions,
     AnswerOf::Status, false, kDeleteParameters},
    {"get", "get", "get", "read", Scope::Object},
    {"update", "put", "put", "replace", Scope::Object, BodyOf::Object, AnswerOf::Object, true,
     kWriteParameters},
    {"delete", "delete", "delete", "delete", Scope::Object, BodyOf::DeleteOptions, AnswerOf::Status, false,
     kDeleteParameters},
    {"patch", "patch", "patch", "patch", Scope::Object, BodyOf::Patch, AnswerOf::Object, true,
     "dryRun:string,fieldManager:string,fieldValidation:string,force:boolean"},
};

// What clients may send and receive; a custom resource has no Go type, so neither strategic merge patches nor
// protobuf. kubectl chooses the patch that it sends by the first list.
constexpr std::string_view kPatchTypes[] = {"application/apply-patch+yaml", "application/json-patch+json",
                                            "application/merge-patch+json",
                                            "application/strategic-merge-patch+json"};
constexpr std::string_view kObjectTypes[] = {"application/json", "application/yaml",
                                             "application/vnd.kubernetes.protobuf"};

std::span<const std::string_view> patch_types(const api::ResourceInfo& resource) {
  return std::span(kPatchTypes).first(std::size(kPatchTypes) - (resource.custom ? 1 : 0));
}

std::span<const std::string_view> object_types(const api::ResourceInfo& resource) {
  return std::span(kObjectTypes).first(std::size(kObjectTypes) - (resource.has_protobuf() ? 0 : 1));
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

Json parameter(std::string_view place, std::string_view name, std::string_view type) {
  Json made = Json::object(
      {{"name", name}, {"in", place}, {"schema", Json::object({{"type", type}, {"uniqueItems", true}})}});
  if (place == "path") made["required"] = true;
  return made;
}

// "limit:integer,watch:boolean".
Json query_parameters(std::string_view listed) {
  JsonArray parameters;
  api::for_each_listed(listed, [&](std::string_view entry) {
    const std::size_t colon = entry.find(':');
    parameters.push_back(parameter("query", entry.substr(0, colon), entry.substr(colon + 1)));
  });
  return parameters;
}

Json request_body(const OperationRow& row, const api::ResourceInfo& resource) {
  const std::string meta(kMetaSchemas);
  if (row.body == BodyOf::DeleteOptions) return content(object_types(resource), meta + "DeleteOptions");
  Json body = row.body == BodyOf::Patch ? content(patch_types(resource), meta + "Patch")
                                        : content(object_types(resource), schema_name(resource));
  body["required"] = true;
  return body;
}

Json responses_of(const OperationRow& row, const api::ResourceInfo& resource) {
  const std::string schema = row.answer == AnswerOf::Object ? schema_name(resource)
                             : row.answer == AnswerOf::List ? list_schema_name(resource)
                                                            : std::string(kMetaSchemas) + "Status";
  Json answer = content(object_types(resource), schema);
  Json responses = Json::object();
  answer["description"] = "OK";
  responses["200"] = answer;
  answer["description"] = "Created";
  if (row.creates) responses["201"] = std::move(answer);
  responses["401"] = Json::object({{"description", "Unauthorized"}});
  return responses;
}

Json operation(const OperationRow& row, const api::ResourceInfo& resource) {
  const std::string word = group_word(resource.group);
  const std::string version(resource.version);
  const std::string id = std::string(row.word) + capitalized(word) + capitalized(version) +
                         (row.action == "deletecollection" ? "Collection" : "") +
                         (resource.namespaced && row.scope != Scope::AllNamespaces ? "Namespaced" : "") +
                         std::string(resource.kind) +
                         (row.scope == Scope::AllNamespaces ? "ForAllNamespaces" : "");
  Json made = Json::object({{"tags", Json::array({word + "_" + version})}, {"operationId", id}});
  if (!row.parameters.empty()) made["parameters"] = query_parameters(row.parameters);
  if (row.body != BodyOf::None) made["requestBody"] = request_body(row, resource);
  made["responses"] = responses_of(row, resource);
  made["x-kubernetes-action"] = row.action;
  made["x-kubernetes-group-version-kind"] =
      Json::object({{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}});
  return made;
}

std::string path_of(Scope scope, const api::ResourceInfo& resource) {
  std::string path = "/" + group_version_path(resource);
  if (resource.namespaced && scope != Scope::AllNamespaces) path += "/namespaces/{namespace}";
  path.append("/").append(resource.plural);
  return scope == Scope::Object ? path + "/{name}" : path;
}

}  // namespace

std::string group_version_path(const api::ResourceInfo& resource) {
  if (resource.group.empty()) return "api/" + std::string(resource.version);
  return "apis/" + std::string(resource.group) + "/" + std::string(resource.version);
}

Json path_items(const api::ResourceInfo& resource) {
  Json items = Json::object();
  for (const OperationRow& row : kOperations) {
    if (!has_verb(resource, row.verb) || (row.scope == Scope::AllNamespaces && !resource.namespaced))
      continue;
    Json& item = items[path_of(row.scope, resource)];
    if (!item.is_object()) {
      item = Json::object();
      JsonArray parameters;
      if (row.scope == Scope::Object) parameters.push_back(parameter("path", "name", "string"));
      if (resource.namespaced && row.scope != Scope::AllNamespaces)
        parameters.push_back(parameter("path", "namespace", "string"));
      if (!parameters.empty()) item["parameters"] = std::move(parameters);
    }
    item[row.method] = operation(row, resource);
  }
  return items;
}

}  // namespace berth::server
