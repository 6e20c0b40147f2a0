// The Workload and the PodGroup of a Job with spec.scheduling, or of a parent that has the Workload: a gang
// Job.
//
// Pure; the engine's thread. Source: KEP-5547 (WorkloadWithJob), KEP-6089.
#pragma once

#include "workloads/objects.h"

namespace berth::workloads {

const api::ResourceRef& workload_resource();

// Its parent has the Workload, and leaves the PodGroup to the Job (annotation
// scheduling.k8s.io/group-template-name).
bool is_delegated(const api::ObjectMeta& job);

struct JobGroup {
  std::string name;    // of the PodGroup; empty: the Job's pods are scheduled as their template says
  bool ready = false;  // pods may be made: their PodGroup exists
};

// Adds the creates of what is missing, Workload before PodGroup, and the change of the gang's size. An object
// of another owner that has the name is left alone: an event reports it, and no pod is made.
JobGroup keep_job_group(const View& view, const Parsed& job, Effects& effects);

}  // namespace berth::workloads
