// Columns of workloads and volumes. Source: the server-side printers of Kubernetes.
#include <algorithm>
#include <array>
#include <map>

#include "api/default_storage_class.h"
#include "server/metadata.h"
#include "server/tables.h"

namespace berth::server {
namespace {

constexpr const char* kUnset = "<unset>";

JsonArray replica_cells(const Json& set, Time now) {
  const Json &spec = set.part("spec"), &status = set.part("status");
  JsonArray cells = {name_of(set), spec.int_at("replicas", 1), status.int_at("replicas"),
                     status.int_at("readyReplicas"), age_of(set, now)};
  append_template(cells, spec);
  return cells;
}

JsonArray stateful_set_cells(const Json& set, Time now) {
  const Json& spec = set.part("spec");
  const std::int64_t ready = set.part("status").int_at("readyReplicas");
  JsonArray cells = {name_of(set), std::to_string(ready) + "/" + std::to_string(spec.int_at("replicas", 1)),
                     age_of(set, now)};
  append_template(cells, spec);
  cells.pop_back();  // no selector here
  return cells;
}

JsonArray daemon_set_cells(const Json& set, Time now) {
  const Json &spec = set.part("spec"), &status = set.part("status");
  JsonArray cells = {name_of(set)};
  for (const char* count : {"desiredNumberScheduled", "currentNumberScheduled", "numberReady",
                            "updatedNumberScheduled", "numberAvailable"})
    cells.emplace_back(status.int_at(count));
  cells.emplace_back(labels_text(spec.part("template").part("spec").part("nodeSelector")));
  cells.emplace_back(age_of(set, now));
  append_template(cells, spec);
  return cells;
}

JsonArray cron_job_cells(const Json& job, Time now) {
  const Json &spec = job.part("spec"), &status = job.part("status");
  const std::string_view last = status.string_at("lastScheduleTime");
  const Json* suspend = spec.find("suspend");
  JsonArray cells = {name_of(job),
                     spec.string_at("schedule"),
                     or_else(spec.string_at("timeZone"), "<none>"),
                     !suspend ? kUnset : (spec.bool_at("suspend") ? "True" : "False"),
                     static_cast<std::int64_t>(status.items_at("active").size()),
                     last.empty() ? "<none>" : since(last, now),
                     age_of(job, now)};
  append_template(cells, spec.part("jobTemplate").part("spec"));
  return cells;
}

std::string access_modes(const JsonArray& modes) {
  constexpr std::array<std::array<std::string_view, 2>, 4> kShort = {{{"ReadWriteOnce", "RWO"},
                                                                      {"ReadOnlyMany", "ROX"},
                                                                      {"ReadWriteMany", "RWX"},
                                                                      {"ReadWriteOncePod", "RWOP"}}};
  std::string text;
  for (const auto& [mode, shown] : kShort)
    for (const Json& asked : modes)
      if (asked.is_string() && asked.as_string() == mode) {
        text.append(text.empty() ? "" : ",").append(shown);
        break;
      }
  return text;
}

std::string phase_of(const Json& volume) {
  return is_deleting(volume) ? "Terminating" : std::string(volume.part("status").string_at("phase"));
}

JsonArray volume_cells(const Json& volume, Time now) {
  const Json& spec = volume.part("spec");
  const Json* claim = spec.find("claimRef");
  std::string claimed;
  if (claim) claimed.append(claim->string_at("namespace")).append("/").append(claim->string_at("name"));
  return {name_of(volume),
          spec.part("capacity").string_at("storage"),
          access_modes(spec.items_at("accessModes")),
          spec.string_at("persistentVolumeReclaimPolicy"),
          phase_of(volume),
          claimed,
          spec.string_at("storageClassName"),
          or_else(spec.string_at("volumeAttributesClassName"), kUnset),
          volume.part("status").string_at("reason"),
          age_of(volume, now),
          or_else(spec.string_at("volumeMode"), kUnset)};
}

JsonArray volume_claim_cells(const Json& claim, Time now) {
  const Json &spec = claim.part("spec"), &status = claim.part("status");
  const std::string_view volume = spec.string_at("volumeName");
  return {name_of(claim),
          phase_of(claim),
          volume,
          volume.empty() ? "" : status.part("capacity").string_at("storage"),
          volume.empty() ? "" : access_modes(status.items_at("accessModes")),
          spec.string_at("storageClassName"),
          or_else(spec.string_at("volumeAttributesClassName"), kUnset),
          age_of(claim, now),
          or_else(spec.string_at("volumeMode"), kUnset)};
}

JsonArray storage_class_cells(const Json& kind, Time now) {
  const bool is_default =
      metadata_of(kind).part("annotations").string_at(api::kDefaultStorageClassAnnotation) == "true";
  return {name_of(kind) + (is_default ? " (default)" : ""),
          kind.string_at("provisioner"),
          or_else(kind.string_at("reclaimPolicy"), "Delete"),
          or_else(kind.string_at("volumeBindingMode"), "Immediate"),
          kind.bool_at("allowVolumeExpansion"),
          age_of(kind, now)};
}

JsonArray role_cells(const Json& role, Time) {
  return {name_of(role), metadata_of(role).string_at("creationTimestamp")};
}

// "cpu: 50%/80%", "10/20 (avg)" of one metric: what is, of what is wanted.
std::string metric_text(const Json& metric, const Json* now) {
  struct Source {
    std::string_view type, member;
    bool is_resource;
  };
  static constexpr Source kSources[] = {{"External", "external", false},
                                        {"Pods", "pods", false},
                                        {"Object", "object", false},
                                        {"Resource", "resource", true},
                                        {"ContainerResource", "containerResource", true}};
  for (const Source& source : kSources) {
    if (metric.string_at("type") != source.type) continue;
    const Json& target = metric.part(source.member).part("target");
    static const Json kUnknown;
    const Json& current = now ? now->part(source.member).part("current") : kUnknown;
    const bool average = target.find("averageValue");
    const std::string_view value = average ? "averageValue" : "value";
    std::string text =
        source.is_resource ? std::string(metric.part(source.member).string_at("name")) + ": " : "";
    if (source.is_resource && !average) {
      const Json *is = current.find("averageUtilization"), *wanted = target.find("averageUtilization");
      return text + (is ? to_string(*is) + "%" : "<unknown>") + "/" +
             (wanted ? to_string(*wanted) + "%" : "<auto>");
    }
    text += or_else(current.string_at(value), "<unknown>") + "/" + std::string(target.string_at(value));
    return text + (average && (source.type == "External" || source.type == "Object") ? " (avg)" : "");
  }
  return "<unknown type>";
}

std::string metrics_text(const JsonArray& metrics, const JsonArray& now) {
  constexpr std::size_t kShownMax = 2;
  if (metrics.empty()) return "<none>";
  std::string text;
  for (std::size_t i = 0; i < std::min(metrics.size(), kShownMax); ++i)
    text += (i ? ", " : "") + metric_text(metrics[i], i < now.size() ? &now[i] : nullptr);
  if (metrics.size() > kShownMax) text += " + " + std::to_string(metrics.size() - kShownMax) + " more...";
  return text;
}

JsonArray autoscaler_cells(const Json& scaler, Time now) {
  const Json &spec = scaler.part("spec"), &status = scaler.part("status");
  const Json& target = spec.part("scaleTargetRef");
  const Json* least = spec.find("minReplicas");
  return {name_of(scaler),
          std::string(target.string_at("kind")) + "/" + std::string(target.string_at("name")),
          metrics_text(spec.items_at("metrics"), status.items_at("currentMetrics")),
          least ? to_string(*least) : "<unset>",
          spec.int_at("maxReplicas"),
          status.int_at("currentReplicas"),
          age_of(scaler, now)};
}

// Limits have a column of their own.
JsonArray quota_cells(const Json& quota, Time now) {
  const Json& status = quota.part("status");
  std::map<std::string_view, const Json*> hard;
  if (status.part("hard").is_object())
    for (const JsonMember& entry : status.part("hard").as_object()) hard.emplace(entry.key, &entry.value);
  std::string requests, limits;
  for (const auto& [name, most] : hard) {
    std::string& text = name.starts_with("limits.") ? limits : requests;
    if (!text.empty()) text += ", ";
    text.append(name).append(": ").append(or_else(status.part("used").string_at(name), "0"));
    text.append("/").append(most->as_string());
  }
  return {name_of(quota), requests, limits, age_of(quota, now)};
}

constexpr TableColumn kAutoscalerColumns[] = {kName,       {"Reference"}, {"Targets"}, {"MinPods"},
                                              {"MaxPods"}, {"Replicas"},  kAge};
constexpr TableColumn kQuotaColumns[] = {kName, {"Request"}, {"Limit"}, kAge};
constexpr TableColumn kContainers{"Containers", "string", 1};
constexpr TableColumn kImages{"Images", "string", 1};
constexpr TableColumn kSelector{"Selector", "string", 1};
constexpr TableColumn kReplicaColumns[] = {kName,
                                           {"Desired", "integer"},
                                           {"Current", "integer"},
                                           {"Ready", "integer"},
                                           kAge,
                                           kContainers,
                                           kImages,
                                           kSelector};
constexpr TableColumn kStatefulSetColumns[] = {kName, {"Ready"}, kAge, kContainers, kImages};
constexpr TableColumn kDaemonSetColumns[] = {kName,
                                             {"Desired", "integer"},
                                             {"Current", "integer"},
                                             {"Ready", "integer"},
                                             {"Up-to-date", "integer"},
                                             {"Available", "integer"},
                                             {"Node Selector"},
                                             kAge,
                                             kContainers,
                                             kImages,
                                             kSelector};
constexpr TableColumn kCronJobColumns[] = {kName,
                                           {"Schedule"},
                                           {"Timezone"},
                                           {"Suspend", "boolean"},
                                           {"Active", "integer"},
                                           {"Last Schedule"},
                                           kAge,
                                           kContainers,
                                           kImages,
                                           kSelector};
constexpr TableColumn kVolumeColumns[] = {
    kName,      {"Capacity"}, {"Access Modes"},           {"Reclaim Policy"},
    {"Status"}, {"Claim"},    {"StorageClass"},           {"VolumeAttributesClass"},
    {"Reason"}, kAge,         {"VolumeMode", "string", 1}};
constexpr TableColumn kVolumeClaimColumns[] = {kName,
                                               {"Status"},
                                               {"Volume"},
                                               {"Capacity"},
                                               {"Access Modes"},
                                               {"StorageClass"},
                                               {"VolumeAttributesClass"},
                                               kAge,
                                               {"VolumeMode", "string", 1}};
constexpr TableColumn kStorageClassColumns[] = {
    kName, {"Provisioner"}, {"ReclaimPolicy"}, {"VolumeBindingMode"}, {"AllowVolumeExpansion", "boolean"},
    kAge};
constexpr TableColumn kRoleColumns[] = {kName, {"Created At", "date"}};

constexpr TableRow kWorkloadRows[] = {
    {"", "replicationcontrollers", {kReplicaColumns, replica_cells}},
    {"apps", "replicasets", {kReplicaColumns, replica_cells}},
    {"apps", "statefulsets", {kStatefulSetColumns, stateful_set_cells}},
    {"apps", "daemonsets", {kDaemonSetColumns, daemon_set_cells}},
    {"batch", "cronjobs", {kCronJobColumns, cron_job_cells}},
    {"autoscaling", "horizontalpodautoscalers", {kAutoscalerColumns, autoscaler_cells}},
    {"", "resourcequotas", {kQuotaColumns, quota_cells}},
    {"", "persistentvolumes", {kVolumeColumns, volume_cells}},
    {"", "persistentvolumeclaims", {kVolumeClaimColumns, volume_claim_cells}},
    {"storage.k8s.io", "storageclasses", {kStorageClassColumns, storage_class_cells}},
    {"rbac.authorization.k8s.io", "roles", {kRoleColumns, role_cells}},
    {"rbac.authorization.k8s.io", "clusterroles", {kRoleColumns, role_cells}},
};

}  // namespace

std::span<const TableRow> workload_rows() {
  return kWorkloadRows;
}

}  // namespace berth::server
