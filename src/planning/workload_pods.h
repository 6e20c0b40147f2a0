// The pods that the Deployments, ReplicaSets, StatefulSets, DaemonSets and Jobs among some documents want.
//
// Runs the controllers of the workloads room over the documents, without time passing, until they want
// nothing more. Deterministic: names and UIDs follow from those of the owners. What they would delete stays,
// except pods of a workload that is marked as scaled.
// Source: kube-controller-manager, as far as it runs before a scheduler sees a pod.
#pragma once

#include <string>
#include <vector>

#include "planning/plan.h"

namespace berth::planning {

// Pods of one plan that are made for workloads; more is an error.
inline constexpr std::size_t kWorkloadPodsMax = 50'000;

struct WorkloadPods {
  // The given ones, and the pods, PodGroups, claims and ReplicaSets that are made.
  std::vector<Document> documents;
  std::vector<std::string> notes;  // for people: workloads whose pods are not made, and why
};

// Pods of a StatefulSet are made as if those before them were ready: a plan is about all of them. Made pods
// are created at `now`. The error names the workload that wants too many.
Result<WorkloadPods> with_workload_pods(std::vector<Document> documents, Time now);

// A UUID that depends on `text` alone: of an object without one, "Pod ns/name".
std::string derived_uid(std::string_view text);

}  // namespace berth::planning
