// PodGroups of the coscheduling plugin (scheduling.x-k8s.io/v1alpha1), which the MPI operator, Kubeflow
// Trainer, KubeRay and others write.
//
// minResources adds nothing to the requests of the pods. scheduleTimeoutSeconds bounds how long members that
// found a place wait for the others; here none waits, because all are placed in one decision.
#include <algorithm>

#include "groups/source.h"

namespace berth::groups {
namespace {

bool has_ended(std::string_view phase) {
  return phase == "Finished" || phase == "Failed";
}

std::string_view coscheduling_phase(const PodCounts& counts, std::int64_t minimum) {
  if (counts.pods < minimum || counts.pods == 0) return "Pending";
  if (counts.succeeded >= minimum) return "Finished";
  const std::int64_t started = counts.running + counts.succeeded;
  if (counts.failed > 0 && started + counts.failed >= minimum) return "Failed";
  return started >= minimum ? "Running" : "Scheduling";
}

// "namespace/owner" of the owners of a member, by name: who uses the group.
Json occupied_by(std::span<const api::Pod* const> pods) {
  for (const api::Pod* pod : pods) {
    std::vector<std::string> owners;
    for (const api::OwnerReference& owner : pod->meta.owners)
      owners.push_back(pod->meta.ns + "/" + owner.name);
    if (owners.empty()) continue;
    std::sort(owners.begin(), owners.end());
    std::string text;
    for (const std::string& owner : owners) text.append(text.empty() ? "" : ",").append(owner);
    return text;
  }
  return {};
}

}  // namespace

// A group that has ended stays so: its pods may be deleted one by one.
JsonObject scheduler_plugins_status(const Parsed& object, const WantedTree& tree, const Progress& progress) {
  JsonObject status;
  if (has_ended(object.status().string_at("phase"))) return status;
  const PodCounts& counts = progress.counts;
  status.append("phase", coscheduling_phase(counts, tree.root().minimum));
  if (Json owners = occupied_by(progress.pods); !owners.is_null())
    status.append("occupiedBy", std::move(owners));
  append_counts(status, counts);
  return status;
}

}  // namespace berth::groups
