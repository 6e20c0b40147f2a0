// A Job with its pods: what has ended, what runs, what counts, and what the policies say of it.
//
// Pure; the engine's thread. Source: kube-controller-manager 1.37, job controller.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "workloads/index_ranges.h"
#include "workloads/pod_set.h"

namespace berth::workloads {

inline constexpr std::string_view kJobTracking = "batch.kubernetes.io/job-tracking";
inline constexpr std::string_view kCompletionIndex = "batch.kubernetes.io/job-completion-index";
inline constexpr std::string_view kIndexFailures = "batch.kubernetes.io/job-index-failure-count";
inline constexpr std::string_view kIndexIgnored = "batch.kubernetes.io/job-index-ignored-failure-count";

// A verdict on the whole Job: the reason and message of its conditions.
struct Verdict {
  std::string reason;
  std::string message;
};

// The first rule of spec.podFailurePolicy that a failed pod matches.
struct RuleMatch {
  std::string action;  // FailJob, FailIndex, Ignore, Count
  std::string message;
};

struct JobState {
  Parsed job;
  bool indexed = false;
  bool replaces_failed_only = false;  // podReplacementPolicy: Failed
  std::int64_t parallelism = 1;
  Time started;  // status.startTime, which a Job gets again when it is resumed; unset before the first
  std::optional<std::int64_t> completions;
  std::optional<std::int64_t> limit_per_index;

  std::vector<const api::Pod*> active;       // by name
  std::vector<const api::Pod*> terminating;  // not finished
  std::int64_t ready = 0;

  // Counted: those of the status, and those that this run finds newly ended.
  std::int64_t succeeded = 0, failed = 0;
  IndexRanges completed, failed_indexes;
  std::set<std::string> uncounted_succeeded, uncounted_failed;  // UIDs: of the status, then of this run
  std::vector<const api::Pod*> countable;                       // their finalizer may go: the status has them
  bool all_counted = false;  // nothing ended that the status does not have yet

  std::optional<Verdict> failure;  // by a pod failure policy or a failed index
  std::optional<Time> last_failure, last_success;
  std::int64_t failures_in_a_row = 0;  // of the pods that exist
};

JobState job_state_of(Parsed job, const OwnedPods::ByName& pods);

// Whether the Job deleted the pod when it was suspended, before its present start: not a failure.
bool was_suspended(const JobState& state, const api::Pod& pod);

// -1 without one.
std::int64_t completion_index(const api::Pod& pod);
// Nothing when no rule matches. Cost: a parse of the pod.
std::optional<RuleMatch> match_failure_rule(const Json& policy, const api::Pod& pod);
// The index of the rule of spec.successPolicy that holds; nothing for none.
std::optional<std::size_t> holding_success_rule(const Json& policy, const IndexRanges& completed,
                                                std::int64_t completions);

// When the next pod may be made after failures: 10 s, doubled with each in a row, at most 10 minutes.
std::optional<Time> backoff_until(const JobState& state);

}  // namespace berth::workloads
