#include "server/discovery.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <vector>

#include "api/type_table.h"
#include "base/base64.h"
#include "server/object_target.h"
#include "server/openapi.h"
#include "server/served.h"
#include "server/status.h"

namespace berth::server {
namespace {

// The order in which kube-apiserver lists its groups; other groups follow by name.
constexpr std::array<std::string_view, 21> kGroupOrder = {"apiregistration.k8s.io",
                                                          "apps",
                                                          "events.k8s.io",
                                                          "authentication.k8s.io",
                                                          "authorization.k8s.io",
                                                          "autoscaling",
                                                          "batch",
                                                          "certificates.k8s.io",
                                                          "networking.k8s.io",
                                                          "policy",
                                                          "rbac.authorization.k8s.io",
                                                          "storage.k8s.io",
                                                          "admissionregistration.k8s.io",
                                                          "apiextensions.k8s.io",
                                                          "scheduling.k8s.io",
                                                          "coordination.k8s.io",
                                                          "node.k8s.io",
                                                          "discovery.k8s.io",
                                                          "resource.k8s.io",
                                                          "flowcontrol.apiserver.k8s.io",
                                                          api::kBerthGroup};

// Aggregated discovery has another order than the plain one.
constexpr std::array<std::string_view, 7> kAggregatedFirst = {
    "apiregistration.k8s.io", "events.k8s.io",       "batch",          "policy",
    "scheduling.k8s.io",      "coordination.k8s.io", "resource.k8s.io"};

// A subresource with a kind other than its resource's, or with verbs other than get, patch and update.
struct SubresourceForm {
  std::string_view name, group, version, kind, verbs;
};
constexpr std::array<SubresourceForm, 13> kSubresources = {{
    {"approval", "", "", "", "get,patch,update"},
    {"attach", "", "", "PodAttachOptions", "create,get"},
    {"binding", "", "", "Binding", "create"},
    {"eviction", "policy", "v1", "Eviction", "create"},
    {"exec", "", "", "PodExecOptions", "create,get"},
    {"finalize", "", "", "", "update"},
    {"log", "", "", "", "get"},
    {"portforward", "", "", "PodPortForwardOptions", "create,get"},
    {"proxy", "", "", "", "create,delete,get,patch,update"},
    {"resize", "", "", "", "get,patch,update"},
    {"scale", "autoscaling", "v1", "Scale", "get,patch,update"},
    {"status", "", "", "", "get,patch,update"},
    {"token", "authentication.k8s.io", "v1", "TokenRequest", "create"},
}};

SubresourceForm form_of(const api::ResourceInfo& resource, std::string_view subresource) {
  SubresourceForm form{subresource, "", "", "", "get,patch,update"};
  for (const SubresourceForm& known : kSubresources)
    if (known.name == subresource) form = known;
  if (subresource == "proxy" && resource.plural != "services")
    form.kind = resource.plural == "nodes" ? "NodeProxyOptions" : "PodProxyOptions";
  if (subresource == "proxy" && resource.plural == "services") form.kind = "ServiceProxyOptions";
  if (form.kind.empty()) form.kind = resource.kind;
  return form;
}

Json listed(std::string_view text) {
  JsonArray items;
  api::for_each_listed(text, [&](std::string_view item) { items.emplace_back(item); });
  return items;
}

std::vector<const api::ResourceInfo*> resources_of(std::string_view group, std::string_view version,
                                                   const ServedSet& served) {
  std::vector<const api::ResourceInfo*> found;
  for (const api::ResourceInfo* resource : served.rows())
    if (resource->group == group && resource->version == version) found.push_back(resource);
  return found;
}

std::vector<std::string_view> versions_of(std::string_view group, const ServedSet& served) {
  std::vector<std::string_view> versions;
  for (const api::ResourceInfo* resource : served.rows())
    if (resource->group == group &&
        std::find(versions.begin(), versions.end(), resource->version) == versions.end())
      versions.push_back(resource->version);
  return versions;
}

template <std::size_t N>
std::vector<std::string_view> groups(const std::array<std::string_view, N>& first, const ServedSet& served) {
  std::vector<std::string_view> names;
  const auto add = [&](std::string_view name) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end() &&
        !versions_of(name, served).empty())
      names.push_back(name);
  };
  for (std::string_view name : first) add(name);
  for (std::string_view name : kGroupOrder) add(name);
  for (const api::ResourceInfo* resource : served.rows()) add(resource->group);
  return names;
}

Json group_json(std::string_view group, const ServedSet& served) {
  JsonArray versions;
  for (std::string_view version : versions_of(group, served))
    versions.push_back(Json::object(
        {{"groupVersion", std::string(group) + "/" + std::string(version)}, {"version", version}}));
  const Json preferred = versions.front();
  return Json::object({{"name", group}, {"versions", std::move(versions)}, {"preferredVersion", preferred}});
}

// Tells migrators whether the stored version is still the one that they know. What is not stored has none; of
// a custom resource only its stored version has one. Source: StorageVersionHash of apiserver's discovery.
std::string storage_version_hash(const api::ResourceInfo& resource) {
  constexpr std::size_t kHashedBytes = 8;
  const api::ResourceInfo& stored = storage_of(resource);
  if (!has_verb(resource, "watch") || (resource.custom && &stored != &resource)) return "";
  const std::string text =
      std::string(stored.group) + "/" + std::string(stored.version) + "/" + std::string(stored.kind);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return base64_encode(std::string_view(reinterpret_cast<const char*>(digest.data()), kHashedBytes));
}

Json legacy_resource(const api::ResourceInfo& resource) {
  Json entry = Json::object({{"name", resource.plural},
                             {"singularName", resource.singular},
                             {"namespaced", resource.namespaced},
                             {"kind", resource.kind},
                             {"verbs", listed(resource.verbs)}});
  if (!resource.short_names.empty()) entry["shortNames"] = listed(resource.short_names);
  if (!resource.categories.empty()) entry["categories"] = listed(resource.categories);
  if (const std::string hash = storage_version_hash(resource); !hash.empty())
    entry["storageVersionHash"] = hash;
  return entry;
}

Json legacy_subresource(const api::ResourceInfo& resource, std::string_view subresource) {
  const SubresourceForm form = form_of(resource, subresource);
  Json entry = Json::object({{"name", std::string(resource.plural) + "/" + std::string(subresource)},
                             {"singularName", ""},
                             {"namespaced", resource.namespaced}});
  if (!form.group.empty()) entry["group"] = form.group;
  if (!form.version.empty()) entry["version"] = form.version;
  entry["kind"] = form.kind;
  entry["verbs"] = listed(form.verbs);
  return entry;
}

std::optional<Json> legacy_list(std::string_view group, std::string_view version, const ServedSet& served) {
  const auto found = resources_of(group, version, served);
  if (found.empty()) return std::nullopt;
  JsonArray entries;
  for (const api::ResourceInfo* resource : found) {
    entries.push_back(legacy_resource(*resource));
    api::for_each_listed(resource->subresources, [&](std::string_view subresource) {
      entries.push_back(legacy_subresource(*resource, subresource));
    });
  }
  Json list = Json::object({{"kind", "APIResourceList"}});
  if (!group.empty()) list["apiVersion"] = "v1";
  list["groupVersion"] =
      group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
  list["resources"] = std::move(entries);
  return list;
}

Json response_kind(std::string_view group, std::string_view version, std::string_view kind) {
  return Json::object({{"group", group}, {"version", version}, {"kind", kind}});
}

Json aggregated_resource(const api::ResourceInfo& resource) {
  Json entry = Json::object({{"resource", resource.plural},
                             {"responseKind", response_kind("", "", resource.kind)},
                             {"scope", resource.namespaced ? "Namespaced" : "Cluster"},
                             {"singularResource", resource.singular},
                             {"verbs", listed(resource.verbs)}});
  if (!resource.short_names.empty()) entry["shortNames"] = listed(resource.short_names);
  if (!resource.categories.empty()) entry["categories"] = listed(resource.categories);
  JsonArray subresources;
  api::for_each_listed(resource.subresources, [&](std::string_view subresource) {
    const SubresourceForm form = form_of(resource, subresource);
    subresources.push_back(Json::object({{"subresource", subresource},
                                         {"responseKind", response_kind(form.group, form.version, form.kind)},
                                         {"verbs", listed(form.verbs)}}));
  });
  if (!subresources.empty()) entry["subresources"] = std::move(subresources);
  return entry;
}

Json aggregated_group(std::string_view group, const ServedSet& served) {
  JsonArray versions;
  for (std::string_view version : versions_of(group, served)) {
    JsonArray entries;
    for (const api::ResourceInfo* resource : resources_of(group, version, served))
      entries.push_back(aggregated_resource(*resource));
    versions.push_back(
        Json::object({{"version", version}, {"resources", std::move(entries)}, {"freshness", "Current"}}));
  }
  Json metadata = Json::object();
  if (!group.empty()) metadata["name"] = group;
  return Json::object({{"metadata", std::move(metadata)}, {"versions", std::move(versions)}});
}

HttpResponse aggregated(bool core, const ServedSet& served) {
  JsonArray items;
  if (core) {
    items.push_back(aggregated_group("", served));
  } else {
    for (std::string_view group : groups(kAggregatedFirst, served))
      items.push_back(aggregated_group(group, served));
  }
  HttpResponse response = json_response(200, to_string(Json::object({{"kind", "APIGroupDiscoveryList"},
                                                                     {"apiVersion", "apidiscovery.k8s.io/v2"},
                                                                     {"metadata", Json::object()},
                                                                     {"items", std::move(items)}})));
  response.headers = {
      {"Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"},
      {"Vary", "Accept"}};
  return response;
}

enum class DiscoveryForm { Plain, Aggregated, Refused };

DiscoveryForm wanted_form(std::string_view accept) {
  if (accept.empty()) return DiscoveryForm::Plain;
  while (!accept.empty()) {
    const std::size_t comma = accept.find(',');
    const std::string_view media = accept.substr(0, comma);
    const bool discovery = media.find("as=APIGroupDiscoveryList") != std::string_view::npos;
    if (discovery && media.find("v=v2;") != std::string_view::npos) return DiscoveryForm::Aggregated;
    const bool plain = media.find("application/json") != std::string_view::npos ||
                       media.find("*/*") != std::string_view::npos ||
                       media.find("protobuf") != std::string_view::npos ||
                       media.find("application/yaml") != std::string_view::npos;
    if (!discovery && plain) return DiscoveryForm::Plain;
    accept = comma == std::string_view::npos ? std::string_view() : accept.substr(comma + 1);
  }
  return DiscoveryForm::Refused;
}

HttpResponse root(const HttpRequest& request, bool core, const ServedSet& served) {
  switch (wanted_form(request.header("Accept"))) {
    case DiscoveryForm::Aggregated:
      return aggregated(core, served);
    case DiscoveryForm::Refused:
      return not_acceptable("application/json, application/yaml, application/vnd.kubernetes.protobuf")
          .to_response();
    case DiscoveryForm::Plain:
      break;
  }
  if (core) {
    const std::string_view host = request.header("Host");
    const Json address = Json::object({{"clientCIDR", "0.0.0.0/0"}, {"serverAddress", host}});
    return json_response(200,
                         to_string(Json::object({{"kind", "APIVersions"},
                                                 {"versions", Json::array({"v1"})},
                                                 {"serverAddressByClientCIDRs", Json::array({address})}})));
  }
  JsonArray items;
  for (std::string_view group : groups(std::array<std::string_view, 0>{}, served))
    items.push_back(group_json(group, served));
  return json_response(
      200, to_string(
               Json::object({{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(items)}})));
}

std::optional<HttpResponse> group(std::string_view name, const ServedSet& served) {
  if (name.empty() || versions_of(name, served).empty()) return std::nullopt;
  Json json = Json::object({{"kind", "APIGroup"}, {"apiVersion", "v1"}});
  const Json described = group_json(name, served);
  for (const JsonMember& member : described.as_object()) json[member.key] = member.value;
  return json_response(200, to_string(json));
}

HttpResponse version() {
  return json_response(200, to_string(Json::object({{"major", "1"},
                                                    {"minor", "37"},
                                                    {"emulationMajor", "1"},
                                                    {"emulationMinor", "37"},
                                                    {"minCompatibilityMajor", "1"},
                                                    {"minCompatibilityMinor", "36"},
                                                    {"gitVersion", "v1.37.0"},
                                                    {"gitCommit", "berth"},
                                                    {"gitTreeState", "clean"},
                                                    {"buildDate", "2026-08-26T00:00:00Z"},
                                                    {"goVersion", "go1.26"},
                                                    {"compiler", "gc"},
                                                    {"platform", "linux/amd64"}})));
}

Json root_paths(const ServedSet& served) {
  JsonArray paths = {"/api", "/api/v1", "/apis"};
  for (std::string_view name : groups(std::array<std::string_view, 0>{}, served)) {
    paths.emplace_back("/apis/" + std::string(name));
    for (std::string_view version : versions_of(name, served))
      paths.emplace_back("/apis/" + std::string(name) + "/" + std::string(version));
  }
  for (const char* path :
       {"/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version"})
    paths.emplace_back(path);
  return Json::object({{"paths", std::move(paths)}});
}

}  // namespace

std::optional<HttpResponse> discovery(const HttpRequest& request, const ParsedPath& path,
                                      const ServedSet& served) {
  std::optional<HttpResponse> found;
  if (path.kind == PathKind::ApiRoot || path.kind == PathKind::ApisRoot)
    found = root(request, path.kind == PathKind::ApiRoot, served);
  if (path.kind == PathKind::Group) found = group(path.resource.group, served);
  if (path.kind == PathKind::GroupVersion)
    if (const auto list = legacy_list(path.resource.group, path.resource.version, served))
      found = json_response(200, to_string(*list));
  if (request.path == "/version") found = version();
  if (request.path == "/") found = json_response(200, to_string(root_paths(served)));
  if (!found) found = openapi(request, served);
  if (found && request.method != "GET" && request.method != "HEAD") return method_not_allowed().to_response();
  return found;
}

}  // namespace berth::server
