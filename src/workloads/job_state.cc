#include "workloads/job_state.h"

#include <algorithm>

#include "api/serialized.h"

namespace berth::workloads {
namespace {

constexpr Duration kFailureBackoff = Duration::seconds(10);
constexpr Duration kFailureBackoffMax = Duration::minutes(10);
// UIDs in the status at once.
constexpr std::size_t kUncountedMax = 500;

std::set<std::string> strings_in(const JsonArray& items) {
  std::set<std::string> found;
  for (const Json& item : items)
    if (item.is_string()) found.insert(item.as_string());
  return found;
}

// When a pod that succeeded stopped being ready. Without a parse: they are many.
Time succeeded_at(const api::Pod& pod) {
  const api::Condition* ready = api::find_condition(pod.conditions, "Ready");
  return ready && ready->last_transition.is_set() ? ready->last_transition : pod.meta.created;
}

// When the pod's last container ended; its deletion, or its creation, where nothing says it.
Time ended_at(const api::Pod& pod) {
  const Result<Json> document = api::parse_object(*pod.raw);
  Time last;
  if (document)
    for (const Json& container : document->part("status").items_at("containerStatuses")) {
      const Time ended = api::decode_time(container.part("state").part("terminated").string_at("finishedAt"));
      if (ended.is_set() && (!last.is_set() || ended > last)) last = ended;
    }
  if (last.is_set()) return last;
  return pod.meta.deleting() ? pod.meta.deleted : pod.meta.created;
}

bool holds(const Json& requirement, std::int64_t code) {
  bool listed = false;
  for (const Json& value : requirement.items_at("values")) listed |= value.is_int() && value.as_int() == code;
  return requirement.string_at("operator") == "In" ? listed : !listed;
}

std::string subject_of(const api::Pod& pod) {
  return "pod " + pod.meta.ns + "/" + pod.meta.name;
}

std::optional<std::string> match_exit_codes(const Json& requirement, const api::Pod& pod,
                                            const Json& document) {
  for (std::string_view field : {"initContainerStatuses", "containerStatuses"})
    for (const Json& container : document.part("status").items_at(field)) {
      const Json* ended = container.part("state").find("terminated");
      const std::string_view wanted = requirement.string_at("containerName");
      if (!ended || (!wanted.empty() && wanted != container.string_at("name"))) continue;
      const std::int64_t code = ended->int_at("exitCode");
      if (code == 0 || !holds(requirement, code)) continue;
      return "Container " + std::string(container.string_at("name")) + " for " + subject_of(pod) +
             " failed with exit code " + std::to_string(code);
    }
  return std::nullopt;
}

std::optional<std::string> match_conditions(const JsonArray& patterns, const api::Pod& pod) {
  for (const Json& pattern : patterns) {
    const api::Condition* condition = api::find_condition(pod.conditions, pattern.string_at("type"));
    const std::string_view wanted = pattern.string_at("status");
    if (condition && condition->status == (wanted.empty() ? "True" : wanted))
      return "Pod " + pod.meta.ns + "/" + pod.meta.name + " has condition " + condition->type;
  }
  return std::nullopt;
}

// Whether the pod counts as failed: one that is deleted never reaches a phase by itself.
bool has_failed(const JobState& state, const api::Pod& pod) {
  if (pod.phase == "Failed") return true;
  return !state.replaces_failed_only && pod.meta.deleting() && pod.phase != "Succeeded" &&
         !was_suspended(state, pod);
}

// Sorts ended pods into the counts; each once, and before its finalizer goes into the status.
class Counting {
 public:
  Counting(JobState& state, const OwnedPods::ByName& pods) : state_(state), pods_(pods) {}

  void count() {
    const Json& status = state_.job.status();
    const Json& uncounted = status.part("uncountedTerminatedPods");
    state_.succeeded = status.int_at("succeeded");
    state_.failed = status.int_at("failed");
    recorded_succeeded_ = strings_in(uncounted.items_at("succeeded"));
    recorded_failed_ = strings_in(uncounted.items_at("failed"));
    const std::int64_t end = state_.completions.value_or(0);
    state_.completed = IndexRanges::parse(status.string_at("completedIndexes"), end);
    state_.failed_indexes = IndexRanges::parse(status.string_at("failedIndexes"), end);
    recorded_completed_ = state_.completed;
    for (const auto& [name, pod] : pods_) sort_in(*pod);
    settle();
    if (state_.indexed) state_.succeeded = state_.completed.count();
    state_.all_counted = fresh_ == 0 && state_.uncounted_succeeded.empty() &&
                         state_.uncounted_failed.empty() && state_.countable.empty();
  }

 private:
  void sort_in(const api::Pod& pod) {
    const bool tracked = pod.meta.has_finalizer(kJobTracking);
    if (tracked) tracked_.insert(pod.meta.uid);
    if (pod.phase == "Succeeded")
      succeeded(pod, tracked);
    else if (has_failed(state_, pod))
      failed(pod, tracked);
    if (pod.finished()) return;
    if (pod.meta.deleting()) {
      state_.terminating.push_back(&pod);
    } else {
      state_.active.push_back(&pod);
      state_.ready += is_ready(pod);
    }
  }

  void succeeded(const api::Pod& pod, bool tracked) {
    const Time ended = succeeded_at(pod);
    if (!state_.last_success || ended > *state_.last_success) state_.last_success = ended;
    if (!tracked) return;
    if (state_.indexed) {
      const std::int64_t index = completion_index(pod);
      const bool valid = index >= 0 && index < state_.completions.value_or(0);
      if (!valid || recorded_completed_.has(index)) {
        state_.countable.push_back(&pod);
        return;
      }
      if (fresh_ >= kUncountedMax) return;
      state_.completed.add(index);
      ++fresh_;
      return;
    }
    note(pod, recorded_succeeded_, state_.uncounted_succeeded);
  }

  void failed(const api::Pod& pod, bool tracked) {
    std::optional<RuleMatch> match;
    if (const Json* policy = state_.job.spec().find("podFailurePolicy"); policy && pod.phase == "Failed")
      match = match_failure_rule(*policy, pod);
    const bool ignored = match && match->action == "Ignore";
    if (match && match->action == "FailJob" && !state_.failure)
      state_.failure = Verdict{"PodFailurePolicy", match->message};
    // One that the Job itself deletes is not tracked any more.
    if (!ignored && (tracked || pod.phase == "Failed")) failures_.push_back(ended_at(pod));
    if (tracked) fail_index(pod, match, ignored);
    if (!tracked) return;
    if (ignored)
      state_.countable.push_back(&pod);  // never counted
    else
      note(pod, recorded_failed_, state_.uncounted_failed);
  }

  void fail_index(const api::Pod& pod, const std::optional<RuleMatch>& match, bool ignored) {
    if (!state_.indexed || !state_.limit_per_index) return;
    const std::int64_t index = completion_index(pod);
    if (index < 0 || index >= state_.completions.value_or(0)) return;
    const std::int64_t before = number_in(pod.meta, kIndexFailures).value_or(0);
    const bool used_up = !ignored && before >= *state_.limit_per_index;
    if (used_up || (match && match->action == "FailIndex")) state_.failed_indexes.add(index);
  }

  void note(const api::Pod& pod, const std::set<std::string>& recorded, std::set<std::string>& uncounted) {
    if (recorded.contains(pod.meta.uid)) {
      state_.countable.push_back(&pod);
    } else if (recorded.size() + fresh_ < kUncountedMax) {
      uncounted.insert(pod.meta.uid);
      ++fresh_;
    } else {
      ++fresh_;  // in a later run
    }
  }

  // Those of the status whose finalizer is gone become a number.
  void settle() {
    for (const std::string& uid : recorded_succeeded_)
      if (tracked_.contains(uid))
        state_.uncounted_succeeded.insert(uid);
      else
        ++state_.succeeded;
    for (const std::string& uid : recorded_failed_)
      if (tracked_.contains(uid))
        state_.uncounted_failed.insert(uid);
      else
        ++state_.failed;
    std::sort(failures_.begin(), failures_.end());
    for (Time failure : failures_) {
      state_.last_failure = failure;
      if (!state_.last_success || failure > *state_.last_success) ++state_.failures_in_a_row;
    }
  }

  JobState& state_;
  const OwnedPods::ByName& pods_;
  std::set<std::string> recorded_succeeded_, recorded_failed_;
  IndexRanges recorded_completed_;
  std::set<std::string> tracked_;  // UIDs of pods with the finalizer
  std::vector<Time> failures_;
  std::size_t fresh_ = 0;  // ended, and not in the status yet
};

}  // namespace

bool was_suspended(const JobState& state, const api::Pod& pod) {
  return pod.meta.deleting() && pod.phase != "Failed" && !pod.meta.has_finalizer(kJobTracking) &&
         pod.meta.created < state.started;
}

std::int64_t completion_index(const api::Pod& pod) {
  return number_in(pod.meta, kCompletionIndex).value_or(-1);
}

std::optional<RuleMatch> match_failure_rule(const Json& policy, const api::Pod& pod) {
  const Result<Json> document = api::parse_object(*pod.raw);
  if (!document) return std::nullopt;
  const JsonArray& rules = policy.items_at("rules");
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Json* codes = rules[i].find("onExitCodes");
    const auto matched = codes ? match_exit_codes(*codes, pod, *document)
                               : match_conditions(rules[i].items_at("onPodConditions"), pod);
    if (!matched) continue;
    const std::string action(rules[i].string_at("action"));
    return RuleMatch{action, *matched + " matching " + action + " rule at index " + std::to_string(i)};
  }
  return std::nullopt;
}

std::optional<std::size_t> holding_success_rule(const Json& policy, const IndexRanges& completed,
                                                std::int64_t completions) {
  const JsonArray& rules = policy.items_at("rules");
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Json* listed = rules[i].find("succeededIndexes");
    const IndexRanges wanted = IndexRanges::parse(
        listed ? rules[i].string_at("succeededIndexes") : "0-" + std::to_string(completions), completions);
    std::int64_t met = 0;
    for (std::int64_t index = 0; index < completions; ++index)
      met += wanted.has(index) && completed.has(index);
    if (met >= rules[i].int_at("succeededCount", wanted.count())) return i;
  }
  return std::nullopt;
}

JobState job_state_of(Parsed job, const OwnedPods::ByName& pods) {
  JobState state{std::move(job)};
  const Json& spec = state.job.spec();
  state.indexed = spec.string_at("completionMode") == "Indexed";
  state.replaces_failed_only = spec.string_at("podReplacementPolicy") == "Failed";
  state.started = api::decode_time(state.job.status().string_at("startTime"));
  state.parallelism = std::max<std::int64_t>(0, spec.int_at("parallelism", 1));
  if (const Json* completions = spec.find("completions"); completions && completions->is_int())
    state.completions = completions->as_int();
  if (const Json* limit = spec.find("backoffLimitPerIndex"); limit && limit->is_int())
    state.limit_per_index = limit->as_int();
  Counting(state, pods).count();
  return state;
}

std::optional<Time> backoff_until(const JobState& state) {
  if (state.failures_in_a_row == 0 || !state.last_failure) return std::nullopt;
  Duration delay = kFailureBackoff;
  for (std::int64_t i = 1; i < state.failures_in_a_row && delay < kFailureBackoffMax; ++i) delay = delay * 2;
  return *state.last_failure + std::min(delay, kFailureBackoffMax);
}

}  // namespace berth::workloads
