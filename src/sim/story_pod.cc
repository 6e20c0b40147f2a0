#include "sim/story_pod.h"

namespace berth::sim {

namespace {

// Each a PersistentVolumeClaim, under its name.
JsonArray story_volumes(const Json& names) {
  JsonArray volumes;
  for (const Json& name : names.is_array() ? names.as_array() : JsonArray{names})
    volumes.push_back(
        Json::object({{"name", name}, {"persistentVolumeClaim", Json::object({{"claimName", name}})}}));
  return volumes;
}

}  // namespace

Json story_pod(const Json& words) {
  Json metadata = Json::object({{"name", words.string_at("pod")}});
  for (const char* key : {"namespace", "labels", "annotations"})
    if (const Json* value = words.find(key)) metadata[key] = *value;

  Json resources = Json::object();
  const Json* cpu = words.find("cpu");
  resources["requests"] = Json::object({{"cpu", cpu ? *cpu : Json("100m")}});
  if (const Json* limits = words.find("limits")) resources["limits"] = *limits;
  Json spec = Json::object({{"schedulerName", "berth"}});
  JsonArray templates;
  if (const Json* claims = words.find("claims"))
    templates = claims->is_array() ? claims->as_array() : JsonArray{*claims};
  JsonArray pod_claims, container_claims;
  if (const Json* name = words.find("claim")) {
    pod_claims.push_back(Json::object({{"name", *name}, {"resourceClaimName", *name}}));
    container_claims.push_back(Json::object({{"name", *name}}));
  }
  for (const Json& name : templates) {
    pod_claims.push_back(Json::object({{"name", name}, {"resourceClaimTemplateName", name}}));
    container_claims.push_back(Json::object({{"name", name}}));
  }
  if (!pod_claims.empty()) {
    spec["resourceClaims"] = std::move(pod_claims);
    resources["claims"] = std::move(container_claims);
  }
  if (const Json* names = words.find("volumes")) spec["volumes"] = story_volumes(*names);
  if (const Json* group = words.find("group"))
    spec["schedulingGroup"] = Json::object({{"podGroupName", *group}});
  if (const Json* node = words.find("bound")) spec["nodeName"] = *node;
  if (const Json* node = words.find("node"))
    spec["nodeSelector"] = Json::object({{"kubernetes.io/hostname", *node}});
  if (const Json* name = words.find("priorityClass")) spec["priorityClassName"] = *name;
  spec["containers"] = Json::array({Json::object(
      {{"name", "work"}, {"image", "registry.k8s.io/pause:3.10"}, {"resources", std::move(resources)}})});
  return Json::object(
      {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", std::move(metadata)}, {"spec", std::move(spec)}});
}

Json story_node(const Json& words, const std::string& name) {
  Json labels = Json::object({{"berth.dev/simulated", "true"}, {"kubernetes.io/hostname", name}});
  if (const Json* more = words.find("labels"))
    for (const JsonMember& label : more->as_object()) labels[label.key] = label.value;
  Json capacity = Json::object({{"cpu", "32"}, {"memory", "128Gi"}, {"pods", "110"}});
  if (const Json* more = words.find("capacity"))
    for (const JsonMember& amount : more->as_object()) capacity[amount.key] = amount.value;
  return Json::object({{"apiVersion", "v1"},
                       {"kind", "Node"},
                       {"metadata", Json::object({{"name", name}, {"labels", std::move(labels)}})},
                       {"status", Json::object({{"capacity", std::move(capacity)}})}});
}

Json story_gang(const std::string& name) {
  const Json policy = Json::object({{"gang", Json::object({{"minCount", 4}})}});
  const Json topology = Json::array({Json::object({{"key", "example.com/rack"}})});
  return Json::object(
      {{"apiVersion", "scheduling.k8s.io/v1beta1"},
       {"kind", "PodGroup"},
       {"metadata", Json::object({{"name", name}})},
       {"spec", Json::object({{"schedulingPolicy", policy},
                              {"schedulingConstraints", Json::object({{"topology", topology}})}})}});
}

}  // namespace berth::sim
