#include "client/kubeconfig.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "api/yaml.h"
#include "base/ascii.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/text_file.h"

namespace berth::client {
namespace {

constexpr std::size_t kFileBytesMax = 4u << 20;
constexpr std::size_t kFilesMax = 64;  // in one KUBECONFIG
// First line of a kubeconfig that Berth wrote and may replace; a file without the line is left alone.
constexpr std::string_view kMarker = "# Written by berth; replaced when it starts again.\n";

// --- The edge to the file system.

void make_directories_above(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    ::mkdir(path.substr(0, slash).c_str(), 0755);
}

// --- Merging.

struct NamedEntry {
  std::string name;
  std::string directory;  // of the file that defined it
  Json value;
};

// Several files merged: the first definition of each name, and the first current-context.
struct Merged {
  std::vector<NamedEntry> clusters, users, contexts;
  std::string current_context;
};

const NamedEntry* find_entry(const std::vector<NamedEntry>& entries, std::string_view name) {
  for (const NamedEntry& entry : entries)
    if (entry.name == name) return &entry;
  return nullptr;
}

void merge_list(const Json& file, const char* list, const char* member, const std::string& directory,
                std::vector<NamedEntry>& into) {
  for (const Json& item : file.items_at(list)) {
    const std::string_view name = item.string_at("name");
    const Json* value = item.find(member);
    if (value && value->is_object() && !find_entry(into, name))
      into.push_back({.name = std::string(name), .directory = directory, .value = *value});
  }
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

Status merge_file(const std::string& path, Merged& merged) {
  const std::string text = TRY(read_text_file(path, kFileBytesMax));
  const std::vector<api::YamlDocument> documents = TRY(api::parse_yaml_documents(text, path));
  if (documents.empty()) return {};
  const Json& file = documents.front().value;
  if (!file.is_object()) return Error(ErrorCode::Invalid, path, "no kubeconfig: not a mapping");
  const std::string directory = directory_of(path);
  merge_list(file, "clusters", "cluster", directory, merged.clusters);
  merge_list(file, "users", "user", directory, merged.users);
  merge_list(file, "contexts", "context", directory, merged.contexts);
  if (merged.current_context.empty()) merged.current_context = file.string_at("current-context");
  return {};
}

// --- From entries to an access.

std::string path_in(const NamedEntry& entry, std::string_view path) {
  return path.empty() || path.starts_with('/') ? std::string(path)
                                               : entry.directory + "/" + std::string(path);
}

// The inline form ("certificate-authority-data"), or the contents of the file that the plain form names.
Result<std::string> material(const NamedEntry& entry, const std::string& key) {
  const std::string_view inline_text = entry.value.string_at(key + "-data");
  if (!inline_text.empty()) {
    Result<std::string> decoded = base64_decode(inline_text);
    if (!decoded) return decoded.error().under(key + "-data");
    return decoded;
  }
  const std::string_view path = entry.value.string_at(key);
  if (path.empty()) return std::string();
  return read_text_file(path_in(entry, path), kFileBytesMax);
}

Status fill_cluster(const NamedEntry& entry, ClusterAccess& access) {
  access.server = entry.value.string_at("server");
  while (access.server.ends_with('/')) access.server.pop_back();
  if (!access.server.starts_with("https://") && !access.server.starts_with("http://"))
    return Error(ErrorCode::Invalid, "clusters[" + entry.name + "].server", "neither http:// nor https://");
  access.ca_pem = TRY(material(entry, "certificate-authority"));
  access.tls_server_name = entry.value.string_at("tls-server-name");
  access.insecure_skip_tls_verify = entry.value.bool_at("insecure-skip-tls-verify");
  access.proxy_url = entry.value.string_at("proxy-url");
  if (access.insecure_skip_tls_verify && !access.ca_pem.empty())
    return Error(ErrorCode::Invalid, "clusters[" + entry.name + "]",
                 "insecure-skip-tls-verify and a certificate authority exclude each other");
  return {};
}

Status fill_user(const NamedEntry& entry, ClusterAccess& access) {
  constexpr const char* kUnsupported[] = {"exec", "auth-provider", "username", "as"};
  for (const char* key : kUnsupported)
    if (const Json* value = entry.value.find(key); value && !value->is_null())
      return Error(ErrorCode::Unsupported, "users[" + entry.name + "]." + key,
                   "not done here; use a client certificate, token or tokenFile");
  access.client_certificate_pem = TRY(material(entry, "client-certificate"));
  access.client_key_pem = TRY(material(entry, "client-key"));
  access.token = entry.value.string_at("token");
  access.token_file = path_in(entry, entry.value.string_at("tokenFile"));
  if (access.client_certificate_pem.empty() != access.client_key_pem.empty())
    return Error(ErrorCode::Invalid, "users[" + entry.name + "]",
                 "a client certificate and its key go together");
  return {};
}

Error undefined(const char* list, std::string_view name) {
  return Error(ErrorCode::NotFound, list, "\"" + std::string(name) + "\" is not defined");
}

Result<ClusterAccess> access_of(const Merged& merged, const std::string& wanted) {
  const std::string& name = wanted.empty() ? merged.current_context : wanted;
  if (name.empty()) return Error(ErrorCode::NotFound, "current-context", "not set");
  const NamedEntry* context = find_entry(merged.contexts, name);
  if (!context) return undefined("contexts", name);
  const std::string_view cluster_name = context->value.string_at("cluster");
  const NamedEntry* cluster = find_entry(merged.clusters, cluster_name);
  if (!cluster) return undefined("clusters", cluster_name);
  ClusterAccess access;
  TRY(fill_cluster(*cluster, access));
  const std::string_view user_name = context->value.string_at("user");
  const NamedEntry* user = find_entry(merged.users, user_name);
  if (!user && !user_name.empty()) return undefined("users", user_name);
  if (user) TRY(fill_user(*user, access));
  const std::string_view ns = context->value.string_at("namespace");
  if (!ns.empty()) access.ns = ns;
  return access;
}

Result<ClusterAccess> in_cluster(const KubeEnvironment& environment) {
  const std::string& host = environment.service_host;
  ClusterAccess access;
  const bool is_ipv6 = host.find(':') != std::string::npos;
  access.server = "https://" + (is_ipv6 ? "[" + host + "]" : host) + ":" + environment.service_port;
  access.ca_pem = TRY(read_text_file(environment.service_account + "/ca.crt", kFileBytesMax));
  access.token_file = environment.service_account + "/token";
  TRY(read_token_file(access.token_file));
  Result<std::string> ns = read_text_file(environment.service_account + "/namespace", kFileBytesMax);
  if (ns && !trimmed(*ns).empty()) access.ns = trimmed(*ns);
  return access;
}

std::vector<std::string> files_of(const KubeEnvironment& environment) {
  std::vector<std::string> files;
  std::string_view rest = environment.kubeconfig;
  while (!rest.empty() && files.size() < kFilesMax) {
    const std::size_t end = rest.find(':');
    if (end != 0) files.emplace_back(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  if (files.empty() && !environment.home.empty()) files.push_back(environment.home + "/.kube/config");
  return files;
}

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(out, text);  // a JSON string is a YAML string
  return out;
}

}  // namespace

KubeEnvironment KubeEnvironment::of_process() {
  const auto value = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string(text ? text : "");
  };
  KubeEnvironment environment;
  environment.kubeconfig = value("KUBECONFIG");
  environment.home = value("HOME");
  environment.service_host = value("KUBERNETES_SERVICE_HOST");
  environment.service_port = value("KUBERNETES_SERVICE_PORT");
  return environment;
}

bool environment_names_proxy() {
  for (const char* name : {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})
    if (const char* proxy = std::getenv(name); proxy && *proxy) return true;
  return false;
}

Result<ClusterAccess> read_kubeconfig(const std::string& explicit_file, const std::string& context,
                                      const KubeEnvironment& environment) {
  Merged merged;
  if (!explicit_file.empty()) {
    TRY(merge_file(explicit_file, merged));
    return access_of(merged, context);
  }
  bool found = false;
  for (const std::string& file : files_of(environment)) {
    const Status read = merge_file(file, merged);
    if (!read.ok() && read.error().code() != ErrorCode::NotFound) return read.error();
    found = found || read.ok();
  }
  if (found) return access_of(merged, context);
  if (!environment.service_host.empty() && !environment.service_port.empty()) return in_cluster(environment);
  return Error(ErrorCode::NotFound,
               "no kubeconfig: neither KUBECONFIG nor ~/.kube/config names a file that is there, "
               "and this is not a pod");
}

std::string kubeconfig_text(const ClusterAccess& access) {
  std::string text(kMarker);
  text += "apiVersion: v1\nkind: Config\nclusters:\n- name: berth\n  cluster:\n";
  text += "    server: " + quoted(access.server) + "\n";
  const auto inline_member = [&text](const char* key, const std::string& pem) {
    if (!pem.empty()) text += "    " + std::string(key) + "-data: " + base64_encode(pem) + "\n";
  };
  inline_member("certificate-authority", access.ca_pem);
  if (!access.tls_server_name.empty())
    text += "    tls-server-name: " + quoted(access.tls_server_name) + "\n";
  if (access.insecure_skip_tls_verify) text += "    insecure-skip-tls-verify: true\n";
  const bool is_anonymous =
      access.client_certificate_pem.empty() && access.token.empty() && access.token_file.empty();
  text += is_anonymous ? "users:\n- name: berth\n  user: {}\n" : "users:\n- name: berth\n  user:\n";
  inline_member("client-certificate", access.client_certificate_pem);
  inline_member("client-key", access.client_key_pem);
  if (!access.token.empty()) text += "    token: " + quoted(access.token) + "\n";
  if (!access.token_file.empty()) text += "    tokenFile: " + quoted(access.token_file) + "\n";
  text += "contexts:\n- name: berth\n  context:\n    cluster: berth\n    user: berth\n";
  if (access.ns != "default") text += "    namespace: " + quoted(access.ns) + "\n";
  return text + "current-context: berth\n";
}

Status write_kubeconfig(const std::string& file, const ClusterAccess& access) {
  const Result<std::string> there = read_text_file(file, kFileBytesMax);
  if (there && !there->empty() && !there->starts_with(kMarker))
    return Error(ErrorCode::Exists, file, "was not written by berth and is left alone; name another file");
  if (!there && there.error().code() != ErrorCode::NotFound) return there.error();
  make_directories_above(file);
  return replace_text_file(file, kubeconfig_text(access));
}

void remove_kubeconfig(const std::string& file) {
  ::unlink(file.c_str());
  const std::size_t slash = file.rfind('/');
  if (slash != std::string::npos && slash > 0) ::rmdir(file.substr(0, slash).c_str());
}

Result<std::string> read_token_file(const std::string& file) {
  const std::string text = TRY(read_text_file(file, kFileBytesMax));
  std::string token(trimmed(text));
  if (token.empty()) return Error(ErrorCode::Invalid, file, "an empty token file");
  return token;
}

}  // namespace berth::client
