// The fields by which kube-scheduler places a pod: one row a field. Berth decides by each of them, as
// kube-scheduler does; docs/scheduling.md#fields is the same list.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace berth::api {

struct PlacementField {
  std::string_view kind;  // Pod or Node
  std::string_view path;
  std::string_view entry_field = {}, entry_value = {};  // the list's entries that count; empty: every entry

  // "spec.topologySpreadConstraints with whenUnsatisfiable: DoNotSchedule"
  std::string text() const {
    std::string text(path);
    if (!entry_field.empty()) text.append(" with ").append(entry_field).append(": ").append(entry_value);
    return text;
  }
};

inline constexpr auto kPlacementFields = std::to_array<PlacementField>({
    {"Pod", "spec.nodeSelector"},
    {"Pod", "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"},
    {"Pod", "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"},
    {"Pod", "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution"},
    {"Pod", "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"},
    {"Pod", "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution"},
    {"Pod", "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution"},
    {"Pod", "spec.tolerations"},
    {"Pod", "spec.containers[].image"},
    {"Pod", "spec.containers[].resources.requests"},
    {"Pod", "spec.initContainers[].resources.requests"},
    {"Pod", "spec.resources.requests"},
    {"Pod", "spec.overhead"},
    {"Pod", "spec.containers[].ports[].hostPort"},
    {"Pod", "spec.resourceClaims"},
    {"Pod", "spec.volumes[].image"},
    {"Pod", "spec.volumes[].persistentVolumeClaim"},
    {"Pod", "spec.volumes[].ephemeral"},
    {"Pod", "spec.topologySpreadConstraints", "whenUnsatisfiable", "DoNotSchedule"},
    {"Pod", "spec.topologySpreadConstraints", "whenUnsatisfiable", "ScheduleAnyway"},
    {"Pod", "spec.schedulingGates"},
    {"Pod", "spec.schedulingGroup"},
    {"Pod", "status.nominatedNodeName"},
    {"Node", "spec.unschedulable"},
    {"Node", "spec.taints", "effect", "NoSchedule"},
    {"Node", "spec.taints", "effect", "NoExecute"},
    {"Node", "spec.taints", "effect", "PreferNoSchedule"},
    {"Node", "status.allocatable"},
    {"Node", "status.declaredFeatures"},
    {"Node", "status.images"},
});

}  // namespace berth::api
