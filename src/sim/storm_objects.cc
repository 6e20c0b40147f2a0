#include "sim/storm_objects.h"

#include <algorithm>

namespace berth::sim {
namespace {

constexpr const char* kDriver = "gpu.example.com";
constexpr const char* kFabricDriver = "fabric.example.com";
constexpr int kMigs = 3, kVgpus = 2;

Json named(const char* api_version, const char* kind, std::string_view name) {
  return Json::object(
      {{"apiVersion", api_version}, {"kind", kind}, {"metadata", Json::object({{"name", name}})}});
}

Json of_type(std::string_view type) {
  return Json::object({{"type", Json::object({{"string", type}})}});
}

Json partition(const std::string& name, const char* type, const char* group, const char* amount) {
  const Json counters = Json::object({{"multiprocessors", Json::object({{"value", amount}})}});
  const Json draw = Json::object({{"counterSet", "gpu-0-counters"},
                                  {"compatibilityGroups", Json::array({group})},
                                  {"counters", counters}});
  return Json::object(
      {{"name", name}, {"attributes", of_type(type)}, {"consumesCounters", Json::array({draw})}});
}

JsonArray node_devices(const StormCluster& cluster, const std::vector<std::string>& without) {
  JsonArray devices;
  const auto add = [&](Json device) {
    const std::string name(device.string_at("name"));
    if (std::find(without.begin(), without.end(), name) == without.end())
      devices.push_back(std::move(device));
  };
  for (int i = 0; i < kMigs; ++i) add(partition("gpu-0-mig-1g-" + std::to_string(i), "mig-1g", "mig", "20"));
  for (int i = 0; i < kVgpus; ++i) add(partition("gpu-0-vgpu-" + std::to_string(i), "vgpu", "vgpu", "50"));
  for (int i = 1; i <= cluster.gpus_per_node; ++i)
    add(Json::object({{"name", "gpu-" + std::to_string(i)}, {"attributes", of_type("gpu")}}));
  return devices;
}

Json device_class(std::string_view name, const std::string& expression) {
  Json object = named("resource.k8s.io/v1", "DeviceClass", name);
  const Json cel = Json::object({{"cel", Json::object({{"expression", expression}})}});
  object["spec"]["selectors"] = Json::array({cel});
  return object;
}

Json request_for(const char* device_class, std::string_view type, int count) {
  Json exactly = Json::object({{"deviceClassName", device_class}});
  if (count > 1) exactly["count"] = std::int64_t{count};
  if (!type.empty()) {
    const std::string expression = "device.attributes['gpu.example.com'].type == '" + std::string(type) + "'";
    exactly["selectors"] = Json::array({Json::object({{"cel", Json::object({{"expression", expression}})}})});
  }
  return Json::object({{"name", "gpu"}, {"exactly", std::move(exactly)}});
}

Json claim_template(const char* name, Json request) {
  Json object = named("resource.k8s.io/v1", "ResourceClaimTemplate", name);
  object["spec"]["spec"]["devices"]["requests"] = Json::array({std::move(request)});
  return object;
}

Json priority_class(const char* name, int value) {
  Json object = named("scheduling.k8s.io/v1", "PriorityClass", name);
  object["value"] = std::int64_t{value};
  return object;
}

Json fabric_slice(const StormCluster& cluster) {
  JsonArray devices;
  for (int i = 0; i < cluster.fabric_cards; ++i)
    devices.push_back(
        Json::object({{"name", "card-" + std::to_string(i)},
                      {"attributes", of_type("fabric")},
                      {"bindsToNode", true},
                      {"bindingConditions", Json::array({"fabric.example.com/Attached"})},
                      {"bindingFailureConditions", Json::array({"fabric.example.com/AttachFailed"})}}));
  Json slice = named("resource.k8s.io/v1", "ResourceSlice", "fabric-pool");
  slice["spec"] = Json::object(
      {{"driver", kFabricDriver},
       {"allNodes", true},
       {"pool", Json::object({{"name", "fabric"}, {"generation", 1}, {"resourceSliceCount", 1}})},
       {"devices", std::move(devices)}});
  return slice;
}

}  // namespace

std::string storm_node_name(int number) {
  return "node-" + std::to_string(number);
}

Json storm_node(const StormCluster& cluster, int number) {
  const std::string name = storm_node_name(number);
  const std::string rack = "rack-" + std::to_string((number - 1) / cluster.nodes_per_rack);
  Json node = named("v1", "Node", name);
  node["metadata"]["labels"] = Json::object(
      {{"berth.dev/simulated", "true"}, {"kubernetes.io/hostname", name}, {"example.com/rack", rack}});
  const Json amounts = Json::object({{"cpu", "16"}, {"memory", "64Gi"}, {"pods", "40"}});
  node["status"] = Json::object({{"capacity", amounts}, {"allocatable", amounts}});
  return node;
}

std::vector<Json> storm_slices(const StormCluster& cluster, int number, std::int64_t generation,
                               const std::vector<std::string>& without) {
  const std::string node = storm_node_name(number);
  const Json pool = Json::object({{"name", node}, {"generation", generation}, {"resourceSliceCount", 2}});
  const Json spec = Json::object({{"driver", kDriver}, {"nodeName", node}, {"pool", pool}});
  Json counters = named("resource.k8s.io/v1", "ResourceSlice", node + "-counters");
  counters["spec"] = spec;
  const Json amount = Json::object({{"multiprocessors", Json::object({{"value", "100"}})}});
  counters["spec"]["sharedCounters"] =
      Json::array({Json::object({{"name", "gpu-0-counters"}, {"counters", amount}})});
  Json devices = named("resource.k8s.io/v1", "ResourceSlice", node + "-devices");
  devices["spec"] = spec;
  devices["spec"]["devices"] = node_devices(cluster, without);
  return {std::move(counters), std::move(devices)};
}

std::vector<Json> storm_basics(const StormCluster& cluster) {
  const std::string ours = "device.driver == 'gpu.example.com'";
  Json whole =
      device_class("whole-gpu.example.com", ours + " && device.attributes['gpu.example.com'].type == 'gpu'");
  whole["spec"]["extendedResourceName"] = "example.com/whole";
  std::vector<Json> all = {device_class("gpu.example.com", ours),
                           std::move(whole),
                           device_class("fabric.example.com", "device.driver == 'fabric.example.com'"),
                           claim_template("mig-1g", request_for("gpu.example.com", "mig-1g", 1)),
                           claim_template("vgpu", request_for("gpu.example.com", "vgpu", 1)),
                           claim_template("one-gpu", request_for("whole-gpu.example.com", "", 1)),
                           claim_template("two-gpus", request_for("whole-gpu.example.com", "", 2)),
                           claim_template("fabric-card", request_for("fabric.example.com", "", 1)),
                           priority_class("high", 1000),
                           priority_class("low", -10),
                           fabric_slice(cluster)};
  return all;
}

Json storm_pod(const Json& words) {
  Json pod = named("v1", "Pod", words.string_at("name"));
  if (const std::int64_t run_s = words.int_at("runS"); run_s > 0)
    pod["metadata"]["annotations"]["berth.dev/run-time"] = std::to_string(run_s) + "s";
  const std::string fabric(words.string_at("fabric"));  // "ready-after 3s", "fail-after 2s" or "never"
  if (const std::size_t space = fabric.find(' '); space != std::string::npos)
    pod["metadata"]["annotations"]["berth.dev/fabric-" + fabric.substr(0, space)] = fabric.substr(space + 1);

  Json container = Json::object({{"name", "work"}, {"image", "registry.k8s.io/pause:3.10"}});
  container["resources"]["requests"]["cpu"] = std::to_string(words.int_at("cpuMillis", 100)) + "m";
  Json spec = Json::object({{"schedulerName", "berth"}});
  const std::string need(words.string_at("need"));
  constexpr std::string_view kShared = "claim/";
  if (need == "extended") {
    container["resources"]["limits"]["example.com/whole"] = "1";
    container["resources"]["requests"]["example.com/whole"] = "1";
  } else if (!need.empty()) {
    const bool shared = need.starts_with(kShared);
    const std::string name = shared ? need.substr(kShared.size()) : need;
    const char* by = shared ? "resourceClaimName" : "resourceClaimTemplateName";
    spec["resourceClaims"] = Json::array({Json::object({{"name", "devices"}, {by, name}})});
    container["resources"]["claims"] = Json::array({Json::object({{"name", "devices"}})});
  }
  if (const std::string_view group = words.string_at("group"); !group.empty())
    spec["schedulingGroup"] = Json::object({{"podGroupName", group}});
  if (const std::string_view priority = words.string_at("priority"); !priority.empty())
    spec["priorityClassName"] = priority;
  spec["containers"] = Json::array({std::move(container)});
  pod["spec"] = std::move(spec);
  return pod;
}

Json storm_group(const Json& words) {
  Json group = named("scheduling.k8s.io/v1beta1", "PodGroup", words.string_at("name"));
  Json policy = Json::object();
  if (words.find("min"))
    policy["gang"]["minCount"] = words.int_at("min");
  else
    policy["basic"] = Json::object();
  group["spec"]["schedulingPolicy"] = std::move(policy);
  if (const std::string_view key = words.string_at("topology"); !key.empty())
    group["spec"]["schedulingConstraints"]["topology"] = Json::array({Json::object({{"key", key}})});
  if (const std::string_view priority = words.string_at("priority"); !priority.empty())
    group["spec"]["priorityClassName"] = priority;
  return group;
}

Json storm_claim(const std::string& name) {
  Json claim = named("resource.k8s.io/v1", "ResourceClaim", name);
  claim["spec"]["devices"]["requests"] = Json::array({request_for("whole-gpu.example.com", "", 1)});
  return claim;
}

}  // namespace berth::sim
