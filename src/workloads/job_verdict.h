// When a Job has failed or is complete, and its conditions.
//
// Pure; the engine's thread. Source: kube-controller-manager 1.37, job controller.
#pragma once

#include "workloads/job_state.h"

namespace berth::workloads {

inline constexpr std::string_view kJobComplete = "Complete";
inline constexpr std::string_view kJobFailed = "Failed";
inline constexpr std::string_view kFailureTarget = "FailureTarget";
inline constexpr std::string_view kSuccessCriteriaMet = "SuccessCriteriaMet";
inline constexpr std::string_view kJobSuspended = "Suspended";

// Has the condition Complete or Failed.
bool is_finished(const Parsed& job);
// Why the Job is to end without success; nothing while it continues. `effects` receives its deadline.
std::optional<Verdict> failure_of(const JobState& state, Time now, Effects& effects);
// Why no further pod is needed; nothing while some are.
std::optional<Verdict> success_of(const JobState& state);

}  // namespace berth::workloads
