#include <array>

#include "api/kinds/pod.h"

namespace berth::api {
namespace {

void set_default(Json& object, std::string_view key, Json value) {
  Json& member = object[key];
  if (member.is_null()) member = std::move(value);
}

// IfNotPresent for an image with a tag other than latest or with a digest.
std::string_view pull_policy_of(std::string_view image) {
  if (image.find('@') != std::string_view::npos) return "IfNotPresent";
  const std::size_t slash = image.rfind('/');
  const std::size_t colon = image.find(':', slash == std::string_view::npos ? 0 : slash);
  const bool latest = colon == std::string_view::npos || image.substr(colon + 1) == "latest";
  return latest ? "Always" : "IfNotPresent";
}

void set_probe_defaults(Json& probe) {
  if (Json* get = probe.find("httpGet")) {
    set_default(*get, "path", "/");
    set_default(*get, "scheme", "HTTP");
  }
  constexpr std::array<std::pair<std::string_view, int>, 4> kNumbers = {
      {{"timeoutSeconds", 1}, {"periodSeconds", 10}, {"successThreshold", 1}, {"failureThreshold", 3}}};
  for (const auto& [key, value] : kNumbers)
    if (probe.int_at(key) == 0) probe[key] = value;
}

void requests_from_limits(Json& resources) {
  const Json* limits = resources.find("limits");
  if (!limits || !limits->is_object() || limits->as_object().empty()) return;
  const Json copied = *limits;
  Json& requests = resources["requests"];
  for (const JsonMember& limit : copied.as_object()) set_default(requests, limit.key, limit.value);
}

void set_container_defaults(Json& container, bool host_network) {
  set_default(container, "resources", Json::object());
  requests_from_limits(container["resources"]);
  set_default(container, "terminationMessagePath", "/dev/termination-log");
  set_default(container, "terminationMessagePolicy", "File");
  set_default(container, "imagePullPolicy", pull_policy_of(container.string_at("image")));
  for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"})
    if (Json* found = container.find(probe)) set_probe_defaults(*found);
  Json* ports = container.find("ports");
  if (!ports || !ports->is_array()) return;
  for (Json& port : ports->as_array()) {
    set_default(port, "protocol", "TCP");
    if (host_network && port.int_at("hostPort") == 0) port["hostPort"] = port.int_at("containerPort");
  }
}

void set_volume_defaults(Json& volume) {
  for (const char* source : {"configMap", "secret", "projected", "downwardAPI"})
    if (Json* found = volume.find(source)) set_default(*found, "defaultMode", 420);
  if (Json* path = volume.find("hostPath")) set_default(*path, "type", "");
  if (Json* ephemeral = volume.find("ephemeral"))
    if (Json* claim = ephemeral->find("volumeClaimTemplate"))
      if (Json* spec = claim->find("spec")) set_default(*spec, "volumeMode", "Filesystem");
}

}  // namespace

void set_pod_spec_defaults(Json& spec) {
  set_default(spec, "restartPolicy", "Always");
  set_default(spec, "terminationGracePeriodSeconds", 30);
  set_default(spec, "dnsPolicy", "ClusterFirst");
  set_default(spec, "securityContext", Json::object());
  set_default(spec, "schedulerName", "default-scheduler");
  const bool host_network = spec.bool_at("hostNetwork");
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"})
    if (Json* containers = spec.find(list); containers && containers->is_array())
      for (Json& container : containers->as_array()) set_container_defaults(container, host_network);
  if (Json* volumes = spec.find("volumes"); volumes && volumes->is_array())
    for (Json& volume : volumes->as_array()) set_volume_defaults(volume);
}

}  // namespace berth::api
