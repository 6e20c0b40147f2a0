#include "simulate/script.h"

#include "api/node_names.h"
#include "api/types/gpu_share.h"

namespace berth::simulate {
namespace {

using api::Kind;
using planning::Document;

constexpr std::string_view kNamespace = "default";

std::string milli(std::int64_t amount) {
  return std::to_string(amount) + "m";
}
std::string mib(std::int64_t amount) {
  return std::to_string(amount) + "Mi";
}

// "0.46"
std::string fraction(std::int64_t hundredths) {
  return std::string("0.") + (hundredths < 10 ? "0" : "") + std::to_string(hundredths);
}

Json affinity_to(const PodShape& shape) {
  Json values = Json::array();
  for (const std::string& value : shape.values) values.as_array().push_back(value);
  const Json expression = Json::object({{"key", shape.label}, {"operator", "In"}, {"values", values}});
  const Json term = Json::object({{"matchExpressions", Json::array({expression})}});
  return Json::object(
      {{"nodeAffinity", Json::object({{"requiredDuringSchedulingIgnoredDuringExecution",
                                       Json::object({{"nodeSelectorTerms", Json::array({term})}})}})}});
}

// One value of the label for the group, if a value has room.
Document wish_document(const std::string& group, const std::string& label) {
  const Json target = Json::object({{"group", "scheduling.k8s.io"}, {"kind", "PodGroup"}, {"name", group}});
  return {
      Kind::PlacementPolicy,
      Json::object({{"apiVersion", api::ref_of(Kind::PlacementPolicy).api_version()},
                    {"kind", "PlacementPolicy"},
                    {"metadata", Json::object({{"name", group}, {"namespace", kNamespace}})},
                    {"spec", Json::object({{"targetRef", target}, {"preferred", Json::array({label})}})}})};
}

}  // namespace

Document node_document(const std::string& name, const NodeShape& shape) {
  Json labels = Json::object({{std::string(api::kHostnameLabel), name}});
  for (const auto& [key, value] : shape.labels) labels[key] = value;
  Json allocatable =
      Json::object({{"cpu", milli(shape.cpu_milli)}, {"memory", mib(shape.memory_mib)}, {"pods", "1000"}});
  if (shape.gpus > 0) allocatable[api::kGpuResource] = std::to_string(shape.gpus);
  return {Kind::Node,
          Json::object({{"apiVersion", "v1"},
                        {"kind", "Node"},
                        {"metadata", Json::object({{"name", name}, {"labels", std::move(labels)}})},
                        {"spec", Json::object()},
                        {"status", Json::object({{"allocatable", std::move(allocatable)}})}})};
}

std::string PodShape::text() const {
  std::string text = std::to_string(cpu_milli) + "/" + std::to_string(memory_mib) + "/" +
                     std::to_string(gpus) + "/" + std::to_string(hundredths) + "/" +
                     std::to_string(priority) + "/" + label;
  for (const std::string& value : values) text += "|" + value;
  return text;
}

Document pod_document(const std::string& name, const PodShape& shape, const std::string& group) {
  Json requests = Json::object({{"cpu", milli(shape.cpu_milli)}, {"memory", mib(shape.memory_mib)}});
  Json metadata = Json::object({{"name", name}, {"namespace", kNamespace}});
  if (shape.gpus > 0 && shape.hundredths == api::kWholeGpu) {
    requests[api::kGpuResource] = std::to_string(shape.gpus);
  } else if (shape.gpus > 0) {
    Json annotations = Json::object({{std::string(api::kGpuFraction), fraction(shape.hundredths)}});
    if (shape.gpus > 1) annotations[api::kGpuFractionDevices] = std::to_string(shape.gpus);
    metadata["annotations"] = std::move(annotations);
  }
  Json resources = Json::object({{"requests", requests}});
  if (requests.find(api::kGpuResource))
    resources["limits"] = Json::object({{std::string(api::kGpuResource), requests[api::kGpuResource]}});
  const Json container = Json::object({{"name", "main"}, {"image", "simulated"}, {"resources", resources}});
  Json spec = Json::object({{"schedulerName", "berth"},
                            {"priority", shape.priority},
                            {"preemptionPolicy", "PreemptLowerPriority"},
                            {"containers", Json::array({container})}});
  if (!shape.values.empty()) spec["affinity"] = affinity_to(shape);
  if (!group.empty()) spec["schedulingGroup"] = Json::object({{"podGroupName", group}});
  return {Kind::Pod, Json::object({{"apiVersion", "v1"},
                                   {"kind", "Pod"},
                                   {"metadata", std::move(metadata)},
                                   {"spec", std::move(spec)}})};
}

Document group_document(const std::string& name, std::int64_t pods, const std::string& within,
                        std::int64_t priority) {
  Json spec =
      Json::object({{"schedulingPolicy", Json::object({{"gang", Json::object({{"minCount", pods}})}})},
                    {"priority", priority}});
  if (!within.empty())
    spec["schedulingConstraints"] =
        Json::object({{"topology", Json::array({Json::object({{"key", within}})})}});
  return {Kind::PodGroup,
          Json::object({{"apiVersion", api::ref_of(Kind::PodGroup).api_version()},
                        {"kind", "PodGroup"},
                        {"metadata", Json::object({{"name", name}, {"namespace", kNamespace}})},
                        {"spec", std::move(spec)}})};
}

Arrival equal_pods(const std::string& name, const PodShape& shape, std::int64_t pods,
                   const GangTopology& topology) {
  Arrival arrival;
  arrival.alike = std::to_string(pods) + "/" + topology.within + "/" + topology.prefers + "/" + shape.text();
  if (pods == 1) {
    arrival.objects.push_back(pod_document(name, shape, ""));
    return arrival;
  }
  arrival.objects.push_back(group_document(name, pods, topology.within, shape.priority));
  if (!topology.prefers.empty()) arrival.objects.push_back(wish_document(name, topology.prefers));
  for (std::int64_t i = 0; i < pods; ++i)
    arrival.objects.push_back(pod_document(name + "-" + std::to_string(i), shape, name));
  return arrival;
}

}  // namespace berth::simulate
