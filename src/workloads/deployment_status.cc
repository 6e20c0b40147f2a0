#include "workloads/deployment_status.h"

#include "workloads/conditions.h"

namespace berth::workloads {
namespace {

constexpr std::string_view kProgressing = "Progressing";
constexpr std::string_view kComplete = "NewReplicaSetAvailable";
constexpr std::string_view kTimedOut = "ProgressDeadlineExceeded";

struct RolloutCounts {
  std::int64_t replicas = 0, updated = 0, ready = 0, available = 0, terminating = 0;
};

RolloutCounts counts_of(const Rollout& rollout) {
  RolloutCounts counts;
  for (const Revision& revision : rollout.revisions) {
    counts.replicas += revision.created;
    counts.ready += revision.ready;
    counts.available += revision.available;
    counts.terminating += revision.terminating;
    if (revision.is_new) counts.updated = revision.created;
  }
  return counts;
}

bool complete(const Rollout& rollout, const RolloutCounts& counts) {
  return counts.updated == rollout.replicas && counts.replicas == rollout.replicas &&
         counts.available == rollout.replicas;
}

// Compared with what the status said before.
bool has_progressed(const Json& before, const RolloutCounts& counts) {
  const std::int64_t updated = before.int_at("updatedReplicas");
  return counts.updated > updated || counts.replicas - counts.updated < before.int_at("replicas") - updated ||
         counts.ready > before.int_at("readyReplicas") ||
         counts.available > before.int_at("availableReplicas");
}

// lastUpdateTime moves with every change, the transition with the status.
void put(Json& conditions, const api::Condition& wanted, Time now) {
  if (!set_condition(conditions, wanted)) return;
  for (Json& condition : conditions.as_array())
    if (condition.string_at("type") == wanted.type) condition["lastUpdateTime"] = format_time(now);
}

void judge_progress(const Rollout& rollout, const RolloutCounts& counts, Json& conditions, Time now,
                    Effects& effects) {
  const auto deadline = progress_deadline(rollout);
  if (!deadline) {
    remove_condition(conditions, kProgressing);
    return;
  }
  const Json* standing = find_condition(rollout.deployment.status().items_at("conditions"), kProgressing);
  const Json before = standing ? *standing : Json();
  const bool was_complete = before.string_at("reason") == kComplete;
  if (was_complete && counts.replicas == counts.updated) return;
  const Revision* newest = rollout.newest();
  const std::string subject = newest ? "ReplicaSet \"" + newest->set.meta.name + "\""
                                     : "Deployment \"" + rollout.deployment.meta.name + "\"";
  if (complete(rollout, counts)) {
    set_progressing(conditions, "True", kComplete, subject + " has successfully progressed.", now);
    return;
  }
  if (has_progressed(rollout.deployment.status(), counts)) {
    const Json* current =
        conditions.is_array() ? find_condition(std::as_const(conditions).as_array(), kProgressing) : nullptr;
    const bool was_true = current && current->string_at("status") == "True";
    const Time since = was_true ? api::decode_time(current->string_at("lastTransitionTime")) : now;
    remove_condition(conditions, kProgressing);
    put(conditions,
        {std::string(kProgressing), "True", "ReplicaSetUpdated", subject + " is progressing.", since, 0},
        now);
    wake_by(effects, now + *deadline + Duration::seconds(1));
    return;
  }
  if (before.is_null() || was_complete || before.string_at("reason") == kTimedOut) return;
  const Time since = api::decode_time(before.string_at("lastUpdateTime"));
  const Time until = (since.is_set() ? since : now) + *deadline;
  if (until < now)
    set_progressing(conditions, "False", kTimedOut, subject + " has timed out progressing.", now);
  else
    wake_by(effects, until + Duration::seconds(1));
}

void judge_availability(const Rollout& rollout, const RolloutCounts& counts, Json& conditions, Time now) {
  const bool available = counts.available >= rollout.replicas - rollout.max_unavailable;
  put(conditions,
      {"Available", available ? "True" : "False",
       available ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
       available ? "Deployment has minimum availability." : "Deployment does not have minimum availability.",
       now, 0},
      now);
}

// That of the newest ReplicaSet, else of any.
void copy_failure(const Rollout& rollout, Json& conditions, Time now) {
  const Json* failure = nullptr;
  for (const Revision& revision : rollout.revisions)
    if (const Json* found = find_condition(revision.set.status().items_at("conditions"), "ReplicaFailure");
        found && (!failure || revision.is_new))
      failure = found;
  if (!failure) {
    remove_condition(conditions, "ReplicaFailure");
    return;
  }
  put(conditions,
      {"ReplicaFailure", std::string(failure->string_at("status")), std::string(failure->string_at("reason")),
       std::string(failure->string_at("message")), now, 0},
      now);
}

}  // namespace

std::optional<Duration> progress_deadline(const Rollout& rollout) {
  const std::int64_t seconds = rollout.deployment.spec().int_at("progressDeadlineSeconds", kNoLimit);
  if (seconds == kNoLimit) return std::nullopt;
  return Duration::seconds(seconds);
}

void set_progressing(Json& conditions, std::string_view status, std::string_view reason, std::string message,
                     Time now) {
  const Json standing = conditions;
  const Json* old = standing.is_array() ? find_condition(standing.as_array(), kProgressing) : nullptr;
  if (old && old->string_at("status") == status && old->string_at("reason") == reason) return;
  put(conditions,
      {std::string(kProgressing), std::string(status), std::string(reason), std::move(message), now, 0}, now);
}

void note_pause(const Rollout& rollout, Json& conditions, Time now) {
  if (!progress_deadline(rollout)) return;
  const Json standing = conditions;
  const Json* old = standing.is_array() ? find_condition(standing.as_array(), kProgressing) : nullptr;
  const std::string_view reason = old ? old->string_at("reason") : "";
  if (reason == kTimedOut) return;
  const bool paused = rollout.deployment.spec().bool_at("paused");
  if (paused && reason != "DeploymentPaused")
    set_progressing(conditions, "Unknown", "DeploymentPaused", "Deployment is paused", now);
  else if (!paused && reason == "DeploymentPaused")
    set_progressing(conditions, "Unknown", "DeploymentResumed", "Deployment is resumed", now);
}

bool is_complete(const Rollout& rollout) {
  return complete(rollout, counts_of(rollout));
}

JsonObject deployment_status(const Rollout& rollout, Json conditions, std::int64_t collisions,
                             Progress progress, Time now, Effects& effects) {
  const RolloutCounts counts = counts_of(rollout);
  if (progress == Progress::Judged) {
    judge_progress(rollout, counts, conditions, now, effects);
    copy_failure(rollout, conditions, now);
  }
  judge_availability(rollout, counts, conditions, now);
  JsonObject status;
  status.append("observedGeneration", rollout.deployment.meta.generation);
  status.append("replicas", unless_zero(counts.replicas));
  status.append("updatedReplicas", unless_zero(counts.updated));
  status.append("readyReplicas", unless_zero(counts.ready));
  status.append("availableReplicas", unless_zero(counts.available));
  status.append("unavailableReplicas",
                unless_zero(std::max<std::int64_t>(0, rollout.total() - counts.available)));
  status.append("terminatingReplicas", counts.terminating);
  status.append("collisionCount", collisions > 0 ? Json(collisions) : Json());
  status.append("conditions", std::move(conditions));
  return status;
}

}  // namespace berth::workloads
