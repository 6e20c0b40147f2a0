#include "plane/controller_names.h"

#include <algorithm>

#include "controllers/controllers.h"
#include "workloads/workloads.h"

namespace berth::plane {
namespace {

struct ControllerName {
  std::string_view name, alias;
};

std::vector<ControllerName> all_names() {
  std::vector<ControllerName> all;
  const auto add = [&](std::string_view name, std::string_view alias) {
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const ControllerName& row) { return row.name == name; });
    if (!name.empty() && !known) all.push_back({name, alias});
  };
  for (const controllers::ControllerRow& row : controllers::controller_rows()) add(row.name, row.alias);
  for (const workloads::WorkloadRow& row : workloads::workload_rows()) add(row.name, row.alias);
  add(workloads::kRootCaPublisher.name, workloads::kRootCaPublisher.alias);
  add(kTokenControllerName, "serviceaccount-token");
  return all;
}

// Resources of which one controller alone makes something.
struct ActedOn {
  std::string_view controller, resource;
};
constexpr ActedOn kActedOn[] = {
    {"replicaset-controller", "replicasets.apps"},
    {"replicationcontroller-controller", "replicationcontrollers"},
    {"deployment-controller", "deployments.apps"},
    {"job-controller", "jobs.batch"},
    {"cronjob-controller", "cronjobs.batch"},
    {"statefulset-controller", "statefulsets.apps"},
    {"daemonset-controller", "daemonsets.apps"},
    {"disruption-controller", "poddisruptionbudgets.policy"},
    {"horizontal-pod-autoscaler-controller", "horizontalpodautoscalers.autoscaling"},
    {"persistentvolume-binder-controller", "persistentvolumes"},
    {"persistentvolume-binder-controller", "persistentvolumeclaims"},
    {"resourcequota-controller", "resourcequotas"},
    {"endpointslice-controller", "services"},
    {"endpointslice-mirroring-controller", "endpoints"},
    {"resourceclaim-controller", "resourceclaimtemplates.resource.k8s.io"},
    {"device-taint-eviction-controller", "devicetaintrules.resource.k8s.io"},
    {"resourcepoolstatusrequest-controller", "resourcepoolstatusrequests.resource.k8s.io"},
};

}  // namespace

std::vector<std::string_view> controller_names() {
  std::vector<std::string_view> names;
  for (const ControllerName& row : all_names()) names.push_back(row.name);
  return names;
}

bool is_controller_name(std::string_view name) {
  if (name == "*" || name == "-*") return true;
  if (name.starts_with('-')) name.remove_prefix(1);
  const std::vector<ControllerName> all = all_names();
  return !name.empty() && std::any_of(all.begin(), all.end(), [&](const ControllerName& row) {
    return name == row.name || name == row.alias;
  });
}

bool runs_controller(std::string_view full_name, std::span<const std::string> names) {
  for (const ControllerName& row : all_names())
    if (row.name == full_name) return workloads::is_enabled(row.name, row.alias, names);
  return true;
}

std::vector<std::string> resources_without_controller(std::span<const std::string> names) {
  std::vector<std::string> resources;
  for (const ActedOn& row : kActedOn)
    if (!runs_controller(row.controller, names)) resources.emplace_back(row.resource);
  return resources;
}

}  // namespace berth::plane
