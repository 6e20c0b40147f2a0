// The fields by which kube-scheduler places a pod, and what Berth does with each: one row a field.
//
// Honoured: Berth decides by it. Warned: a preference that Berth ignores; whoever writes it gets a Warning.
// Scores without a field (image locality, balanced allocation, default spreading) have no row:
// docs/scheduling.md#fields lists them. Pure; a walk over a few rows.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace berth::api {

enum class Honouring : std::uint8_t { Honoured, Warned };

struct PlacementField {
  std::string_view kind;                                // Pod or Node
  std::string_view path;                                // a Warned one is below spec and ends in a list
  std::string_view entry_field = {}, entry_value = {};  // the list's entries that count; empty: every entry
  Honouring honouring = Honouring::Honoured;

  // "spec.topologySpreadConstraints with whenUnsatisfiable: DoNotSchedule"
  std::string text() const;
};

inline constexpr auto kPlacementFields = std::to_array<PlacementField>({
    {"Pod", "spec.nodeSelector"},
    {"Pod", "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"},
    {"Pod", "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution"},
    {"Pod", "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"},
    {"Pod", "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution"},
    {"Pod", "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution"},
    {"Pod", "spec.tolerations"},
    {"Pod", "spec.containers[].resources.requests"},
    {"Pod", "spec.initContainers[].resources.requests"},
    {"Pod", "spec.resources.requests"},
    {"Pod", "spec.overhead"},
    {"Pod", "spec.containers[].ports[].hostPort"},
    {"Pod", "spec.resourceClaims"},
    {"Pod", "spec.volumes[].persistentVolumeClaim"},
    {"Pod", "spec.volumes[].ephemeral"},
    {"Pod", "spec.topologySpreadConstraints", "whenUnsatisfiable", "DoNotSchedule"},
    {"Pod", "spec.schedulingGates"},
    {"Pod", "spec.schedulingGroup"},
    {"Pod", "status.nominatedNodeName"},
    {"Node", "spec.unschedulable"},
    {"Node", "spec.taints", "effect", "NoSchedule"},
    {"Node", "spec.taints", "effect", "NoExecute"},
    {"Node", "status.allocatable"},
    {"Node", "status.declaredFeatures"},

    {"Pod", "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution", "", "",
     Honouring::Warned},
    {"Pod", "spec.topologySpreadConstraints", "whenUnsatisfiable", "ScheduleAnyway", Honouring::Warned},
    {"Node", "spec.taints", "effect", "PreferNoSchedule", Honouring::Warned},
});

namespace detail {
// Whether the list at the end of `path` has an entry that counts for the row. Documents as in the decoders.
template <class Document>
bool has_entry(const Document& at, std::string_view path, const PlacementField& row) {
  const std::size_t dot = path.find('.');
  if (dot != std::string_view::npos) {
    const auto part = at.find(path.substr(0, dot));
    return part && has_entry(*part, path.substr(dot + 1), row);
  }
  for (const auto& entry : at.items_at(path))
    if (row.entry_field.empty() || entry.string_at(row.entry_field) == row.entry_value) return true;
  return false;
}
}  // namespace detail

// The Warned rows that the spec of such an object sets.
template <class Document>
std::vector<const PlacementField*> preferences_set(const Document& spec, std::string_view kind) {
  constexpr std::string_view kSpec = "spec.";
  std::vector<const PlacementField*> set;
  for (const PlacementField& row : kPlacementFields)
    if (row.honouring == Honouring::Warned && row.kind == kind &&
        detail::has_entry(spec, row.path.substr(kSpec.size()), row))
      set.push_back(&row);
  return set;
}

// For a write of a pod: one sentence for each Warned field that it sets and `before` (null: none)
// did not.
std::vector<std::string> pod_placement_warnings(const Json& pod, const Json* before);
// The same for any object: a pod, a workload with a pod template, a node. Nothing for pods of a scheduler
// other than berth and default-scheduler.
std::vector<std::string> placement_warnings(std::string_view group, std::string_view kind, const Json& object,
                                            const Json* before);

}  // namespace berth::api
