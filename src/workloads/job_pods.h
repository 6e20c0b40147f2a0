// The pods that a Job is to have next: how many, which indexes, and what each looks like.
//
// Pure; the engine's thread. Source: kube-controller-manager 1.37, job controller.
#pragma once

#include "workloads/job_state.h"

namespace berth::workloads {

// Adds the creates and deletes that bring the active pods to what the Job wants. `group` is the PodGroup of
// its pods, or empty. `effects` receives when the backoff after failures ends.
void keep_job_pods(const View& view, const JobState& state, const PodsOfOwner& pods, const std::string& group,
                   Time now, Effects& effects);

// The pod without its finalizer: nobody waits to count it any more. A pod that is gone is fine.
client::Write drop_tracking(const api::Pod& pod);

// Deletes a pod that the Job does not want any more. Its finalizer goes first, so it counts as neither failed
// nor succeeded.
void remove_uncounted(Effects& effects, const Parsed& job, const api::Pod& pod);

// The sequence of names of which a pod of the Job has one; that of its index where pods have indexes.
NumberedNames job_pod_names(const std::string& job, const std::string& uid, std::int64_t index);

}  // namespace berth::workloads
