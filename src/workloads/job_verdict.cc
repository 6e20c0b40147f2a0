#include "workloads/job_verdict.h"

#include <algorithm>

#include "api/serialized.h"
#include "workloads/conditions.h"

namespace berth::workloads {
namespace {

// A deadline that no Job lives to see: what is beyond it counts as this much.
constexpr std::int64_t kDeadlineSecondsMax = std::int64_t{1000} * 365 * 24 * 3600;

// Restarts of containers of the pods that run. Only a pod that is not ready may restart again and again.
std::int64_t restarts_of(const JobState& state) {
  std::int64_t restarts = 0;
  for (const api::Pod* pod : state.active) {
    if (is_ready(*pod)) continue;
    const Result<Json> document = api::parse_object(*pod->raw);
    if (!document) continue;
    for (std::string_view field : {"initContainerStatuses", "containerStatuses"})
      for (const Json& container : document->part("status").items_at(field))
        restarts += container.int_at("restartCount");
  }
  return restarts;
}

bool is_beyond_backoff_limit(const JobState& state) {
  const Json& spec = state.job.spec();
  const std::int64_t limit = spec.int_at("backoffLimit", 6);
  if (state.failed + static_cast<std::int64_t>(state.uncounted_failed.size()) > limit) return true;
  if (spec.part("template").part("spec").string_at("restartPolicy") != "OnFailure") return false;
  const std::int64_t restarts = restarts_of(state);
  return limit == 0 ? restarts > 0 : restarts >= limit;
}

std::optional<Verdict> failed_indexes(const JobState& state) {
  const std::int64_t failed = state.failed_indexes.count();
  if (failed == 0 || !state.completions) return std::nullopt;
  const Json* max = state.job.spec().find("maxFailedIndexes");
  if (max && max->is_int() && failed > max->as_int())
    return Verdict{"MaxFailedIndexesExceeded",
                   "Job has exceeded the specified maximal number of failed indexes"};
  if (failed + state.completed.count() >= *state.completions)
    return Verdict{"FailedIndexes", "Job has failed indexes"};
  return std::nullopt;
}

}  // namespace

bool is_finished(const Parsed& job) {
  const JsonArray& conditions = job.status().items_at("conditions");
  return condition_is_true(conditions, kJobComplete) || condition_is_true(conditions, kJobFailed);
}

std::optional<Verdict> failure_of(const JobState& state, Time now, Effects& effects) {
  const Json& spec = state.job.spec();
  if (state.failure) return state.failure;
  if (is_beyond_backoff_limit(state))
    return Verdict{"BackoffLimitExceeded", "Job has reached the specified backoff limit"};
  const Json* deadline = spec.find("activeDeadlineSeconds");
  if (deadline && deadline->is_int() && state.started.is_set() && !spec.bool_at("suspend")) {
    const Time end = state.started + Duration::seconds(std::min(deadline->as_int(), kDeadlineSecondsMax));
    if (now >= end) return Verdict{"DeadlineExceeded", "Job was active longer than specified deadline"};
    wake_by(effects, end);
  }
  return failed_indexes(state);
}

std::optional<Verdict> success_of(const JobState& state) {
  const Json* policy = state.job.spec().find("successPolicy");
  if (policy && state.indexed && state.completions)
    if (const auto rule = holding_success_rule(*policy, state.completed, *state.completions))
      return Verdict{"SuccessPolicy", "Matched rules at index " + std::to_string(*rule)};
  const std::int64_t succeeded =
      state.succeeded + static_cast<std::int64_t>(state.uncounted_succeeded.size());
  const bool reached = state.completions ? succeeded >= *state.completions
                                         : succeeded > 0 && state.active.empty() && state.terminating.empty();
  if (!reached) return std::nullopt;
  return Verdict{"CompletionsReached", "Reached expected number of succeeded pods"};
}

}  // namespace berth::workloads
