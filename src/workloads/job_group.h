// The Workload and the PodGroup of a Job with spec.scheduling: a gang Job.
//
// Pure; the engine's thread. Source: KEP-5547 (WorkloadWithJob), KEP-6089.
#pragma once

#include "workloads/objects.h"

namespace berth::workloads {

inline constexpr std::string_view kGroupTemplate = "job";  // of the Workload; a Job has one

const api::ResourceRef& workload_resource();

struct JobGroup {
  std::string name;    // of the PodGroup; empty: the Job's pods are scheduled one by one
  bool ready = false;  // pods may be made: their PodGroup exists
};

// Adds the creates of what is missing, Workload before PodGroup, and the change of the gang's size.
JobGroup keep_job_group(const View& view, const Parsed& job, Effects& effects);

}  // namespace berth::workloads
