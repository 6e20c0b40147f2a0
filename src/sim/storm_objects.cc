#include "sim/storm_objects.h"

#include <algorithm>

#include "api/type_table.h"
#include "sim/storm_needs.h"

namespace berth::sim {
namespace {

constexpr const char* kDriver = "gpu.example.com";
constexpr const char* kFabricDriver = "fabric.example.com";
constexpr const char* kNetDriver = "net.example.com";
constexpr int kMigs = 3, kVgpus = 2, kUplinks = 2;
constexpr int kDegradedGpu = 9;

// A name may begin with a namespace: "team-b/pod-3".
Json named(const char* api_version, const char* kind, std::string_view name) {
  const std::size_t slash = name.find('/');
  Json object = Json::object({{"apiVersion", api_version}, {"kind", kind}});
  object["metadata"]["name"] = name.substr(slash == std::string_view::npos ? 0 : slash + 1);
  if (slash != std::string_view::npos) object["metadata"]["namespace"] = name.substr(0, slash);
  return object;
}

Json of_type(std::string_view type) {
  return Json::object({{"type", Json::object({{"string", type}})}});
}
Json amount(std::string_view value) {
  return Json::object({{"value", value}});
}
Json degraded() {
  return Json::array({Json::object({{"key", "example.com/degraded"}, {"effect", "NoSchedule"}})});
}

Json draw(const char* set, const char* counter, const char* drawn) {
  return Json::object({{"counterSet", set}, {"counters", Json::object({{counter, amount(drawn)}})}});
}

Json partition(const std::string& name, const char* type, const char* group, const char* drawn) {
  Json of_gpu = draw("gpu-0-counters", "multiprocessors", drawn);
  of_gpu["compatibilityGroups"] = Json::array({group});
  return Json::object({{"name", name},
                       {"attributes", of_type(type)},
                       {"consumesCounters", Json::array({std::move(of_gpu)})}});
}

// gpu-1 to gpu-4: the NUMA nodes and boards are 0 0 1 1, the links ab a b b, the models a b a b.
Json whole_gpu(int index) {
  const auto second = static_cast<std::int64_t>((index - 1) / 2 % 2);
  Json attributes = of_type("gpu");
  attributes["model"] = Json::object({{"string", index % 2 == 1 ? "a" : "b"}});
  attributes["numa"] = Json::object({{"int", second}});
  attributes["board"] = Json::object({{"string", "board-" + std::to_string(second)}});
  attributes["firmware"] = Json::object({{"version", "1." + std::to_string(2 + index) + ".0"}});
  const Json links = index == 1   ? Json::array({"link-a", "link-b"})
                     : index == 2 ? Json::array({"link-a"})
                                  : Json::array({"link-b"});
  attributes["links"] = Json::object({{"strings", links}});
  const Json memory = Json::object({{"memory", amount(index == 1 ? "80Gi" : "40Gi")}});
  return Json::object({{"name", "gpu-" + std::to_string(index)},
                       {"attributes", std::move(attributes)},
                       {"capacity", memory}});
}

Json shared_device(const std::string& name, const char* type) {
  return Json::object({{"name", name},
                       {"attributes", of_type(type)},
                       {"allowMultipleAllocations", true},
                       {"capacity", Json::object({{"bandwidth", amount("100")}})}});
}

// Devices that must not be allocated come first, so that they are tried and refused.
JsonArray node_devices(const StormCluster& cluster, int number, const std::vector<std::string>& without) {
  JsonArray devices;
  const auto add = [&](Json device) {
    const std::string name(device.string_at("name"));
    if (std::find(without.begin(), without.end(), name) == without.end())
      devices.push_back(std::move(device));
  };
  const bool odd = number % 2 == 1;
  Json broken = partition("gpu-0-mig-1g-9", "mig-1g", "mig", "30");
  broken["taints"] = degraded();
  if (odd) add(std::move(broken));
  for (int i = 0; i < kMigs; ++i) add(partition("gpu-0-mig-1g-" + std::to_string(i), "mig-1g", "mig", "30"));
  for (int i = 0; i < kVgpus; ++i) add(partition("gpu-0-vgpu-" + std::to_string(i), "vgpu", "vgpu", "50"));
  add(partition("gpu-0-whole", "whole", "whole", "100"));
  for (int i = 1; i <= cluster.gpus_per_node; ++i) add(whole_gpu(i));
  Json tainted = whole_gpu(kDegradedGpu);
  tainted["taints"] = degraded();
  if (odd) add(std::move(tainted));
  Json shared = shared_device("nic-0", "shared-nic");
  shared["consumesCounters"] = Json::array({draw("lane-counters", "lanes", "10")});
  add(std::move(shared));
  Json nic = Json::object({{"name", "nic-1"}, {"attributes", of_type("nic")}});
  nic["consumesCounters"] = Json::array({draw("lane-counters", "lanes", "10")});
  if (odd) add(std::move(nic));
  return devices;
}

Json counter_set(const char* name, const char* counter, const char* whole) {
  return Json::object({{"name", name}, {"counters", Json::object({{counter, amount(whole)}})}});
}

Json device_class(std::string_view name, const std::string& expression) {
  Json object = named("resource.k8s.io/v1", "DeviceClass", name);
  const Json cel = Json::object({{"cel", Json::object({{"expression", expression}})}});
  object["spec"]["selectors"] = Json::array({cel});
  return object;
}

Json claim_template(const StormNeed& need, std::string_view ns) {
  Json object = named("resource.k8s.io/v1", "ResourceClaimTemplate", need.name);
  object["metadata"]["namespace"] = ns;
  object["spec"]["spec"]["devices"] = need.devices;
  return object;
}

Json priority_class(const char* name, int value) {
  Json object = named("scheduling.k8s.io/v1", "PriorityClass", name);
  object["value"] = std::int64_t{value};
  return object;
}

Json everywhere(const char* name, const char* driver, const char* pool, JsonArray devices) {
  Json slice = named("resource.k8s.io/v1", "ResourceSlice", name);
  slice["spec"] =
      Json::object({{"driver", driver},
                    {"allNodes", true},
                    {"pool", Json::object({{"name", pool}, {"generation", 1}, {"resourceSliceCount", 1}})},
                    {"devices", std::move(devices)}});
  return slice;
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
  return everywhere("fabric-pool", kFabricDriver, "fabric", std::move(devices));
}

Json net_slice() {
  JsonArray devices;
  for (int i = 0; i < kUplinks; ++i) {
    Json uplink = shared_device("uplink-" + std::to_string(i), "uplink");
    const Json range = Json::object({{"min", "10"}, {"step", "10"}, {"max", "60"}});
    uplink["capacity"]["bandwidth"]["requestPolicy"] =
        Json::object({{"default", "10"}, {"validRange", range}});
    devices.push_back(std::move(uplink));
  }
  return everywhere("net-pool", kNetDriver, "net", std::move(devices));
}

Json other_namespace() {
  Json object = named("v1", "Namespace", kStormNamespace);
  object["metadata"]["labels"] = Json::object({{"resource.kubernetes.io/admin-access", "true"}});
  return object;
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
  const Json amounts = Json::object({{"cpu", std::to_string(cluster.cpus_per_node)},
                                     {"memory", "64Gi"},
                                     {"pods", "40"},
                                     {"nvidia.com/gpu", std::to_string(kStormNodeGpus)}});
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
  counters["spec"]["sharedCounters"] = Json::array(
      {counter_set("gpu-0-counters", "multiprocessors", "100"), counter_set("lane-counters", "lanes", "16")});
  Json devices = named("resource.k8s.io/v1", "ResourceSlice", node + "-devices");
  devices["spec"] = spec;
  devices["spec"]["devices"] = node_devices(cluster, number, without);
  return {std::move(counters), std::move(devices)};
}

std::vector<Json> storm_basics(const StormCluster& cluster) {
  const std::string ours = "device.driver == 'gpu.example.com'";
  Json whole =
      device_class("whole-gpu.example.com", ours + " && device.attributes['gpu.example.com'].type == 'gpu'");
  whole["spec"]["extendedResourceName"] = "example.com/whole";
  std::vector<Json> all = {other_namespace(),
                           device_class("gpu.example.com", ours),
                           std::move(whole),
                           device_class("fabric.example.com", "device.driver == 'fabric.example.com'"),
                           device_class("net.example.com", "device.driver == 'net.example.com'"),
                           priority_class("critical", 10'000),
                           priority_class("high", 1000),
                           priority_class("low", -10),
                           fabric_slice(cluster),
                           net_slice()};
  for (const StormNeed& need : storm_needs()) {
    const bool looks = need.name == "look-at-all";  // refused where users have no admin access
    if (!looks) all.push_back(claim_template(need, "default"));
    if (looks || need.name == "one-gpu") all.push_back(claim_template(need, kStormNamespace));
  }
  return all;
}

namespace {

// One need of a pod, the `number`-th.
void add_need(std::string_view need, std::size_t number, Json& spec, Json& container) {
  constexpr std::string_view kShared = "claim/";
  if (need == "extended") {
    container["resources"]["limits"]["example.com/whole"] = "1";
    container["resources"]["requests"]["example.com/whole"] = "1";
    return;
  }
  const bool shared = need.starts_with(kShared);
  const std::string entry = number == 0 ? "devices" : "devices-" + std::to_string(number);
  const char* by = shared ? "resourceClaimName" : "resourceClaimTemplateName";
  if (number == 0) spec["resourceClaims"] = Json::array();
  if (number == 0) container["resources"]["claims"] = Json::array();
  spec["resourceClaims"].as_array().push_back(
      Json::object({{"name", entry}, {by, shared ? need.substr(kShared.size()) : need}}));
  container["resources"]["claims"].as_array().push_back(Json::object({{"name", entry}}));
}

}  // namespace

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
  if (const std::string_view share = words.string_at("share"); !share.empty()) {
    pod["metadata"]["annotations"]["gpu-fraction"] = share;
    pod["metadata"]["annotations"]["gpu-fraction-num-devices"] = std::to_string(words.int_at("shareGpus", 1));
  }
  if (const std::int64_t gpus = words.int_at("gpus"); gpus > 0)
    for (const char* amounts : {"limits", "requests"})
      container["resources"][amounts]["nvidia.com/gpu"] = std::to_string(gpus);
  std::size_t number = 0;
  for (std::string_view needs = words.string_at("need"); !needs.empty();) {
    const std::size_t plus = needs.find('+');
    add_need(needs.substr(0, plus), number++, spec, container);
    needs = plus == std::string_view::npos ? std::string_view() : needs.substr(plus + 1);
  }
  for (std::string_view claims = words.string_at("volumes"); !claims.empty();) {
    const std::size_t plus = claims.find('+');
    const std::string_view claim = claims.substr(0, plus);
    if (!spec.find("volumes")) spec["volumes"] = Json::array();
    spec["volumes"].as_array().push_back(
        Json::object({{"name", claim}, {"persistentVolumeClaim", Json::object({{"claimName", claim}})}}));
    claims = plus == std::string_view::npos ? std::string_view() : claims.substr(plus + 1);
  }
  if (const std::int64_t stays_s = words.int_at("staysS"); stays_s > 0) {
    spec["tolerations"] = Json::array({Json::object({{"key", "example.com/broken"},
                                                     {"operator", "Exists"},
                                                     {"effect", "NoExecute"},
                                                     {"tolerationSeconds", stays_s}})});
    pod["metadata"]["labels"]["group"] = words.string_at("group");
  }
  if (const std::string_view group = words.string_at("group"); !group.empty())
    spec["schedulingGroup"] = Json::object({{"podGroupName", group.substr(group.find('/') + 1)}});
  if (const std::string_view priority = words.string_at("priority"); !priority.empty())
    spec["priorityClassName"] = priority;
  spec["containers"] = Json::array({std::move(container)});
  pod["spec"] = std::move(spec);
  return pod;
}

Json storm_replicas(const Json& words) {
  const std::string_view name = words.string_at("name");
  Json set = named("apps/v1", "ReplicaSet", name);
  const Json labels = Json::object({{"set", name}});
  Json pod = storm_pod(words);
  set["spec"]["replicas"] = words.int_at("count", 1);
  set["spec"]["selector"]["matchLabels"] = labels;
  set["spec"]["template"]["metadata"]["labels"] = labels;
  set["spec"]["template"]["spec"] = pod.part("spec");
  return set;
}

namespace {

// What PodGroups and CompositePodGroups have in common. `minimum`: the field of the gang policy.
Json any_group(Json group, const Json& words, std::string_view minimum) {
  Json policy = Json::object();
  if (words.find("min"))
    policy["gang"][minimum] = words.int_at("min");
  else
    policy["basic"] = Json::object();
  group["spec"]["schedulingPolicy"] = std::move(policy);
  if (const std::string_view key = words.string_at("topology"); !key.empty())
    group["spec"]["schedulingConstraints"]["topology"] = Json::array({Json::object({{"key", key}})});
  if (const std::string_view priority = words.string_at("priority"); !priority.empty())
    group["spec"]["priorityClassName"] = priority;
  const std::string_view parent = words.string_at("parent");
  if (!parent.empty()) group["spec"]["parentCompositePodGroupName"] = parent;
  if (!parent.empty() || minimum == "minGroupCount")
    group["spec"]["workloadRef"] = Json::object({{"workloadName", "storm"}, {"templateName", "any"}});
  return group;
}

}  // namespace

Json storm_group(const Json& words) {
  Json group =
      any_group(named("scheduling.k8s.io/v1beta1", "PodGroup", words.string_at("name")), words, "minCount");
  if (const std::string_view need = words.string_at("claim"); !need.empty())
    group["spec"]["resourceClaims"] =
        Json::array({Json::object({{"name", "devices"}, {"resourceClaimTemplateName", need}})});
  return group;
}

Json storm_composite(const Json& words) {
  return any_group(named("scheduling.k8s.io/v1alpha3", "CompositePodGroup", words.string_at("name")), words,
                   "minGroupCount");
}

Json storm_topology(const Json& words) {
  Json topology = named("scheduling.berth.dev/v1alpha1", "Topology", "default");
  Json levels = Json::array();
  api::for_each_listed(words.string_at("levels"), [&](std::string_view level) {
    const char* label = level == "rack" ? "example.com/rack" : "kubernetes.io/hostname";
    levels.as_array().push_back(Json::object({{"name", level}, {"nodeLabel", label}}));
  });
  topology["spec"]["levels"] = std::move(levels);
  return topology;
}

Json storm_policy(const Json& words) {
  const std::string_view target = words.string_at("target");
  const std::size_t slash = target.find('/');
  const std::string ns(slash == std::string_view::npos ? "" : target.substr(0, slash + 1));
  Json policy =
      named("scheduling.berth.dev/v1alpha1", "PlacementPolicy", ns + std::string(words.string_at("name")));
  policy["spec"]["targetRef"] =
      Json::object({{"group", "scheduling.k8s.io"},
                    {"kind", words.string_at("kind")},
                    {"name", target.substr(slash == std::string_view::npos ? 0 : slash + 1)}});
  if (const std::string_view preferred = words.string_at("preferred"); !preferred.empty())
    policy["spec"]["preferred"] = Json::array({preferred});
  if (const std::string_view topology = words.string_at("topology"); !topology.empty())
    policy["spec"]["topology"] = topology;
  if (const std::string_view required = words.string_at("required"); !required.empty())
    policy["spec"]["required"] = required;
  if (words.bool_at("ranks")) policy["spec"]["ranks"] = "Contiguous";
  if (const std::string_view spare = words.string_at("replace"); !spare.empty()) {
    policy["spec"]["replaceFailedNodes"] = "WithinDomain";
    policy["spec"]["whenNoSpare"] = spare;
  }
  return policy;
}

Json storm_budget(const Json& words) {
  Json budget = named("policy/v1", "PodDisruptionBudget", words.string_at("name"));
  budget["spec"]["minAvailable"] = words.int_at("min");
  budget["spec"]["selector"]["matchLabels"]["group"] = words.string_at("name");
  return budget;
}

Json storm_claim(const Json& words) {
  Json claim = named("resource.k8s.io/v1", "ResourceClaim", words.string_at("name"));
  const std::string_view need = words.string_at("need");
  const Json* devices = storm_need(need.empty() ? "one-gpu" : need);
  if (devices) claim["spec"]["devices"] = *devices;
  return claim;
}

namespace {

Json volume_class(const char* name, const char* after, const char* mode, const char* fails_on = "") {
  Json object = named("storage.k8s.io/v1", "StorageClass", name);
  const std::string_view delay = after;
  object["provisioner"] = delay.empty() ? "kubernetes.io/no-provisioner" : "simulated.berth.dev";
  object["volumeBindingMode"] = mode;
  if (!delay.empty()) object["parameters"]["berth.dev/provision-after"] = after;
  if (*fails_on) object["parameters"]["berth.dev/provision-fails-on"] = fails_on;
  return object;
}

}  // namespace

std::vector<Json> storm_volume_classes() {
  constexpr const char* kLate = "WaitForFirstConsumer";
  return {volume_class("local", "", kLate), volume_class("made", "3s", kLate),
          volume_class("slow", "20s", kLate), volume_class("flaky", "2s", kLate, "node-1,node-2"),
          volume_class("now", "1s", "Immediate")};
}

Json storm_volume(const Json& words) {
  Json volume = named("v1", "PersistentVolume", words.string_at("name"));
  const Json on =
      Json::object({{"key", "kubernetes.io/hostname"},
                    {"operator", "In"},
                    {"values", Json::array({storm_node_name(static_cast<int>(words.int_at("node", 1)))})}});
  Json spec = Json::object({{"storageClassName", "local"},
                            {"accessModes", Json::array({"ReadWriteOnce"})},
                            {"capacity", Json::object({{"storage", "10Gi"}})},
                            {"local", Json::object({{"path", "/mnt/disk"}})}});
  spec["nodeAffinity"]["required"]["nodeSelectorTerms"] =
      Json::array({Json::object({{"matchExpressions", Json::array({on})}})});
  volume["spec"] = std::move(spec);
  return volume;
}

Json storm_volume_claim(const Json& words) {
  Json claim = named("v1", "PersistentVolumeClaim", words.string_at("name"));
  claim["spec"] = Json::object(
      {{"storageClassName", words.string_at("class")}, {"accessModes", Json::array({"ReadWriteOnce"})}});
  claim["spec"]["resources"]["requests"]["storage"] = "1Gi";
  return claim;
}

Json storm_health_policy() {
  Json policy = named("scheduling.berth.dev/v1alpha1", "DeviceHealthPolicy", "ill");
  policy["spec"] = Json::object({{"driver", kDriver},
                                 {"holdFor", "3s"},
                                 {"recoverAfter", "10s"},
                                 {"effect", "NoExecute"},
                                 {"budgets", Json::object({{"cluster", 2}})}});
  return policy;
}

}  // namespace berth::sim
