#include <algorithm>
#include <array>

#include "api/kinds/core_parts.h"
#include "api/kinds/pod.h"

namespace berth::api {
namespace {

constexpr int kFileMode = 420;  // 0644
constexpr int kTokenSeconds = 3600;

// IfNotPresent for an image with a tag other than latest or with a digest.
std::string_view pull_policy_of(std::string_view image) {
  if (image.find('@') != std::string_view::npos) return "IfNotPresent";
  const std::size_t slash = image.rfind('/');
  const std::size_t colon = image.find(':', slash == std::string_view::npos ? 0 : slash);
  const bool latest = colon == std::string_view::npos || image.substr(colon + 1) == "latest";
  return latest ? "Always" : "IfNotPresent";
}

void set_http_defaults(Json& handler) {
  static const TypeInfo& type = core_type("HTTPGetAction");
  Json* get = present(handler, "httpGet");
  if (!get) return;
  put_default(*get, type, "path", "/");
  put_default(*get, type, "scheme", "HTTP");
}

void set_probe_defaults(Json& probe) {
  static const TypeInfo& type = core_type("Probe");
  set_http_defaults(probe);
  constexpr std::array<std::pair<std::string_view, int>, 4> kNumbers = {
      {{"timeoutSeconds", 1}, {"periodSeconds", 10}, {"successThreshold", 1}, {"failureThreshold", 3}}};
  for (const auto& [key, value] : kNumbers)
    if (probe.int_at(key) == 0) put(probe, type, key, value);
}

void requests_from_limits(Json& resources) {
  const Json* limits = present(resources, "limits");
  if (entries(limits).empty()) return;
  const Json* stated = present(resources, "requests");
  JsonObject requests = stated ? stated->as_object() : JsonObject();
  for (const JsonMember& limit : limits->as_object())
    if (!requests.find(limit.key)) requests[limit.key] = limit.value;
  std::sort(requests.begin(), requests.end(),
            [](const JsonMember& a, const JsonMember& b) { return a.key < b.key; });
  put(resources, core_type("ResourceRequirements"), "requests", Json(std::move(requests)));
}

// Of `holder`, a source of a variable or a file of the downward API.
void set_field_ref_defaults(Json& holder) {
  static const TypeInfo& field = core_type("ObjectFieldSelector");
  static const TypeInfo& resource = core_type("ResourceFieldSelector");
  if (Json* ref = present(holder, "fieldRef")) put_default(*ref, field, "apiVersion", "v1");
  if (Json* ref = present(holder, "resourceFieldRef")) put_default(*ref, resource, "divisor", "0");
}

void set_env_defaults(Json& container) {
  for (Json& variable : items(container, "env"))
    if (Json* from = present(variable, "valueFrom")) set_field_ref_defaults(*from);
}

void set_downward_defaults(Json& volume) {
  for (Json& file : items(volume, "items")) set_field_ref_defaults(file);
}

// serviceAccount is the old name of serviceAccountName: both are always written.
void join_account_names(Json& spec) {
  static const TypeInfo& type = core_type("PodSpec");
  const std::string account(spec.string_at("serviceAccountName"));
  const std::string old_name(spec.string_at("serviceAccount"));
  if (account == old_name) return;
  if (account.empty())
    put(spec, type, "serviceAccountName", old_name);
  else
    put(spec, type, "serviceAccount", account);
}

void set_container_defaults(Json& container, bool host_network) {
  static const TypeInfo& type = core_type("Container");
  static const TypeInfo& port_type = core_type("ContainerPort");
  put_default(container, type, "resources", Json::object());
  put_default(container, type, "terminationMessagePath", "/dev/termination-log");
  put_default(container, type, "terminationMessagePolicy", "File");
  put_default(container, type, "imagePullPolicy", pull_policy_of(container.string_at("image")));
  for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"})
    if (Json* found = present(container, probe)) set_probe_defaults(*found);
  for (const char* hook : {"postStart", "preStop"})
    if (Json* found = present_at(container, {"lifecycle", hook})) set_http_defaults(*found);
  set_env_defaults(container);
  for (Json& port : items(container, "ports")) {
    put_default(port, port_type, "protocol", "TCP");
    if (host_network && port.int_at("hostPort") == 0)
      put(port, port_type, "hostPort", port.int_at("containerPort"));
  }
}

struct Mode {
  std::string_view member;
  std::string_view type;
};
constexpr Mode kModes[] = {{"configMap", "ConfigMapVolumeSource"},
                           {"secret", "SecretVolumeSource"},
                           {"projected", "ProjectedVolumeSource"},
                           {"downwardAPI", "DownwardAPIVolumeSource"}};

void set_volume_defaults(Json& volume) {
  static const TypeInfo& type = core_type("Volume");
  if (volume.as_object().size() == (present(volume, "name") ? 1U : 0U))
    put(volume, type, "emptyDir", Json::object());
  for (const Mode& mode : kModes)
    if (Json* found = present(volume, mode.member))
      put_default(*found, core_type(mode.type), "defaultMode", kFileMode);
  if (Json* fields = present(volume, "downwardAPI")) set_downward_defaults(*fields);
  if (Json* projected = present(volume, "projected"))
    for (Json& source : items(*projected, "sources")) {
      if (Json* token = present(source, "serviceAccountToken"))
        put_default(*token, core_type("ServiceAccountTokenProjection"), "expirationSeconds", kTokenSeconds);
      if (Json* fields = present(source, "downwardAPI")) set_downward_defaults(*fields);
    }
  if (Json* path = present(volume, "hostPath"))
    put_default(*path, core_type("HostPathVolumeSource"), "type", "");
  if (Json* claim = present_at(volume, {"ephemeral", "volumeClaimTemplate", "spec"}))
    put_default(*claim, core_type("PersistentVolumeClaimSpec"), "volumeMode", "Filesystem");
}

// podIP is the first of podIPs; when they differ, podIP wins.
void join_addresses(Json& status) {
  static const TypeInfo& type = core_type("PodStatus");
  const std::string ip(status.string_at("podIP"));
  const JsonArray& ips = items(&status, "podIPs");
  const std::string_view first = ips.empty() ? std::string_view() : ips[0].string_at("ip");
  if (ip == first) return;
  if (ip.empty())
    put(status, type, "podIP", first);
  else
    put(status, type, "podIPs", Json::array({Json::object({{"ip", ip}})}));
}

}  // namespace

void set_pod_spec_defaults(Json& spec) {
  static const TypeInfo& type = core_type("PodSpec");
  put_default(spec, type, "restartPolicy", "Always");
  put_default(spec, type, "terminationGracePeriodSeconds", 30);
  put_default(spec, type, "dnsPolicy", "ClusterFirst");
  put_default(spec, type, "securityContext", Json::object());
  put_default(spec, type, "schedulerName", "default-scheduler");
  join_account_names(spec);
  const bool host_network = spec.bool_at("hostNetwork");
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"})
    for (Json& container : items(spec, list)) set_container_defaults(container, host_network);
  for (Json& volume : items(spec, "volumes")) set_volume_defaults(volume);
}

void set_template_defaults(Json& spec) {
  if (Json* pod_spec = present_at(spec, {"template", "spec"})) set_pod_spec_defaults(*pod_spec);
}

void set_pod_defaults(Json& pod) {
  static const TypeInfo& type = core_type("Pod");
  static const TypeInfo& spec_type = core_type("PodSpec");
  put_default(pod, type, "spec", Json::object());
  Json& spec = *present(pod, "spec");
  set_pod_spec_defaults(spec);
  put_default(spec, spec_type, "enableServiceLinks", true);
  for (const char* list : {"initContainers", "containers"})
    for (Json& container : items(spec, list)) requests_from_limits(*present(container, "resources"));
  if (Json* resources = present(spec, "resources")) requests_from_limits(*resources);
  if (Json* status = present(pod, "status")) join_addresses(*status);
  // Of pods alone: a template keeps what it says.
  if (Json* grace = present(spec, "terminationGracePeriodSeconds"); grace && grace->as_int() < 0) *grace = 1;
}

}  // namespace berth::api
