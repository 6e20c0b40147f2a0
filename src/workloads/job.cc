#include "workloads/conditions.h"
#include "workloads/job_group.h"
#include "workloads/job_pods.h"
#include "workloads/job_verdict.h"

namespace berth::workloads {
namespace {

constexpr std::string_view kOurController = "kubernetes.io/job-controller";

Json uncounted_json(const std::set<std::string>& succeeded, const std::set<std::string>& failed) {
  Json json = Json::object();
  if (!succeeded.empty()) json["succeeded"] = JsonArray(succeeded.begin(), succeeded.end());
  if (!failed.empty()) json["failed"] = JsonArray(failed.begin(), failed.end());
  return json;
}

// The condition that announces the end, until all pods have ended and are counted.
std::optional<Verdict> standing_verdict(const Json& conditions, std::string_view type) {
  if (!conditions.is_array()) return std::nullopt;
  const Json* condition = find_condition(conditions.as_array(), type);
  if (!condition || condition->string_at("status") != "True") return std::nullopt;
  return Verdict{std::string(condition->string_at("reason")), std::string(condition->string_at("message"))};
}

// One run of a living Job's key.
class JobRun {
 public:
  JobRun(const View& view, JobState state, const PodsOfOwner& pods, Time now)
      : view_(view),
        state_(std::move(state)),
        pods_(pods),
        now_(now),
        conditions_(state_.job.status().items_at("conditions")),
        start_(state_.job.status().part("startTime")) {}

  Effects go() {
    for (const api::Pod* pod : state_.countable) {
      if (effects_.chains.size() >= kPodsPerRunMax) break;
      effects_.chains.push_back({client::key_of(Kind::Pod, pod->meta), {drop_tracking(*pod)}});
    }
    const bool suspended = state_.job.spec().bool_at("suspend");
    if (start_.is_null() && !suspended) start_ = Json(format_time(now_));
    const bool ends = judge();
    if (ends)
      end();
    else if (suspended)
      suspend();
    else
      work();
    write_status();
    return std::move(effects_);
  }

 private:
  void set(std::string_view type, const char* status, const Verdict& verdict) {
    set_condition(conditions_, {std::string(type), status, verdict.reason, verdict.message, now_, 0});
  }

  // True when the Job is on its way to its end.
  bool judge() {
    failure_ = standing_verdict(conditions_, kFailureTarget);
    success_ = standing_verdict(conditions_, kSuccessCriteriaMet);
    if (failure_ || success_) return true;
    failure_ = failure_of(state_, now_, effects_);
    if (failure_) {
      set(kFailureTarget, "True", *failure_);
      return true;
    }
    success_ = success_of(state_);
    if (success_) set(kSuccessCriteriaMet, "True", *success_);
    return success_.has_value();
  }

  void end() {
    remove_all(delete_pod);
    if (!state_.active.empty() || !state_.terminating.empty() || !state_.all_counted) return;
    if (failure_) {
      set(kJobFailed, "True", *failure_);
      effects_.events.push_back(event_about(state_.job, true, failure_->reason, failure_->message));
      return;
    }
    set(kJobComplete, "True", *success_);
    completion_ = Json(format_time(now_));
    effects_.events.push_back(event_about(state_.job, false, "Completed", "Job completed"));
  }

  void suspend() {
    remove_all(remove_uncounted);
    const Json& conditions = conditions_;
    if (condition_is_true(conditions.as_array(), kJobSuspended)) return;
    set(kJobSuspended, "True", {"JobSuspended", "Job suspended"});
    effects_.events.push_back(event_about(state_.job, false, "Suspended", "Job suspended"));
  }

  void work() {
    const Json& conditions = conditions_;
    if (condition_is_true(conditions.as_array(), kJobSuspended)) {
      set(kJobSuspended, "False", {"JobResumed", "Job resumed"});
      start_ = Json(format_time(now_));
      effects_.events.push_back(event_about(state_.job, false, "Resumed", "Job resumed"));
    }
    const JobGroup group = keep_job_group(view_, state_.job, effects_);
    if (group.ready) keep_job_pods(view_, state_, pods_, group.name, now_, effects_);
  }

  void remove_all(void (*remove)(Effects&, const Parsed&, const api::Pod&)) {
    for (std::size_t i = 0; i < std::min(state_.active.size(), kPodsPerRunMax); ++i)
      remove(effects_, state_.job, *state_.active[i]);
  }

  void write_status() {
    JsonObject status;
    status.append("conditions", std::move(conditions_));
    status.append("startTime", std::move(start_));
    if (!completion_.is_null()) status.append("completionTime", std::move(completion_));
    status.append("active", unless_zero(static_cast<std::int64_t>(state_.active.size())));
    status.append("ready", state_.ready);
    status.append("terminating", static_cast<std::int64_t>(state_.terminating.size()));
    status.append("succeeded", unless_zero(state_.succeeded));
    status.append("failed", unless_zero(state_.failed));
    status.append("uncountedTerminatedPods",
                  uncounted_json(state_.uncounted_succeeded, state_.uncounted_failed));
    if (state_.indexed) {
      const std::string done = state_.completed.text();
      status.append("completedIndexes", done.empty() ? Json() : Json(done));
      if (state_.limit_per_index) status.append("failedIndexes", state_.failed_indexes.text());
    }
    // Replaced as a whole: a merge would keep the UIDs that are counted.
    const Json standing = state_.job.status().part("uncountedTerminatedPods");
    std::optional<Json> changed = difference(state_.job.status(), status);
    if (!changed) return;
    if (Json* uncounted = changed->find("uncountedTerminatedPods"))
      for (std::string_view part : {"succeeded", "failed"})
        if (standing.find(part) && !uncounted->find(part)) (*uncounted)[part] = Json();
    const api::ObjectMeta& meta = state_.job.meta;
    // In front of the pods: what is refused stops the chains that have not begun.
    effects_.chains.insert(
        effects_.chains.begin(),
        {state_.job.key,
         {client::merge_patch(state_.job.key, Json::object({{"status", std::move(*changed)}}), meta.uid,
                              meta.resource_version, "status")}});
  }

  const View& view_;
  JobState state_;
  const PodsOfOwner& pods_;
  const Time now_;
  Json conditions_;
  Json start_;
  Json completion_;
  std::optional<Verdict> failure_, success_;
  Effects effects_;
};

class Job final : public client::Reconciler {
 public:
  std::string_view name() const override { return "job-controller"; }

  std::vector<client::Interest> interests() const override {
    // The pods that a Job which is gone did not adopt any more. Before pods_ forgets which.
    std::vector<client::Interest> interests = {
        {Kind::Other, jobs(), [this](const View&, const Delta& delta, Keys& keys) {
           const auto* gone = client::object_of<api::AnyObject>(delta.before);
           if (!gone || delta.after) return;
           for (std::string& name : pods_.strays_of(gone->meta.uid))
             keys.push_back({Kind::Pod, delta.key.ns, std::move(name), {}});
         }}};
    for (client::Interest& interest : pods_.interests()) interests.push_back(std::move(interest));
    interests.push_back({Kind::Pod, {}, [](const View&, const Delta& delta, Keys& keys) {
                           const auto* pod = client::object_of<api::Pod>(delta.after);
                           if (pod && lacks_owner(*pod)) keys.push_back(delta.key);
                         }});
    interests.push_back(wakes_controller(Kind::PodGroup, {}, jobs(), "Job"));
    interests.push_back(wakes_controller(Kind::Other, workload_resource(), jobs(), "Job"));
    // One of a parent: its delegated Jobs may wait for it.
    interests.push_back(
        {Kind::Other, workload_resource(), [](const View& view, const Delta& delta, Keys& keys) {
           for (const auto* side : {&delta.before, &delta.after}) {
             const auto* workload = client::object_of<api::AnyObject>(*side);
             const auto* owner = workload ? workload->meta.controller() : nullptr;
             if (workload && (!owner || owner->kind != "Job")) wake_delegated(view, delta.key.ns, keys);
           }
         }});
    return interests;
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    if (key.kind == Kind::Pod) {
      const api::Pod* pod = view.pods.find(key.ns, key.name);
      return pod && is_orphan(view, *pod) ? Effects::write(key, drop_tracking(*pod)) : Effects::nothing();
    }
    const auto job = find_parsed(view, key);
    Effects effects = let_go_of_others(key, job ? job->meta.uid : "");
    if (!job) return effects;
    const OwnedPods::ByName& pods = pods_.of(job->meta.uid);
    if (job->meta.deleting() || is_finished(*job)) {
      let_go(pods, std::nullopt, effects);
      let_go_of_strays(view, *job, effects);
      if (!job->meta.deleting()) expire(*job, now, effects);
      return effects;
    }
    if (!is_ours(*job)) return effects;
    const std::size_t before = effects.chains.size();
    pods_.claim(view, *job, controller_reference(*job, "batch/v1", "Job"), effects);
    if (effects.chains.size() > before) return effects;  // how many are missing is known after that
    const std::string refusal = refusals_.take(key);
    if (!refusal.empty())
      effects.events.push_back(event_about(*job, true, "FailedCreate", "Error creating: " + refusal));
    const PodsOfOwner owned{pods, pods_.next_numbers(job->meta.uid)};
    Effects run = JobRun(view, job_state_of(*job, pods), owned, now).go();
    append(effects, std::move(run));
    return effects;
  }

  void on_outcome(const View&, const api::ObjectKey& key, const client::Outcome& outcome, Time) override {
    refusals_.note(key, outcome);
  }

 private:
  static bool lacks_owner(const api::Pod& pod) {
    return pod.meta.has_finalizer(kJobTracking) && !pod.meta.controller();
  }

  // Nobody counts it, nor will a Job adopt it.
  bool is_orphan(const View& view, const api::Pod& pod) const {
    if (!lacks_owner(pod)) return false;
    for (const std::string& name : pods_.claimants_of(pod)) {
      const auto job = find_parsed(view, key_in(jobs(), pod.meta.ns, name));
      if (job && !job->meta.deleting() && !is_finished(*job) && is_ours(*job)) return false;
    }
    return true;
  }

  static bool is_ours(const Parsed& job) {
    const std::string_view manager = job.spec().string_at("managedBy");
    return manager.empty() || manager == kOurController;
  }

  void let_go_of_strays(const View& view, const Parsed& job, Effects& effects) const {
    for (const std::string& name : pods_.strays_of(job.meta.uid)) {
      const api::Pod* pod = view.pods.find(job.meta.ns, name);
      if (!pod || !is_orphan(view, *pod)) continue;
      if (effects.chains.size() >= kPodsPerRunMax) return;
      effects.chains.push_back({client::key_of(Kind::Pod, pod->meta), {drop_tracking(*pod)}});
    }
  }

  static void append(Effects& effects, Effects more) {
    for (client::Chain& chain : more.chains) effects.chains.push_back(std::move(chain));
    for (client::EventNote& event : more.events) effects.events.push_back(std::move(event));
    effects.stop_on_failure |= more.stop_on_failure;
    effects.retry |= more.retry;
    if (more.wake_at) wake_by(effects, *more.wake_at);
  }

  static void wake_delegated(const View& view, const std::string& ns, Keys& keys) {
    for (api::ObjectKey& key : view.keys_in(Kind::Other, ns, jobs())) {
      const api::AnyObject* job = find_other(view, jobs(), key.ns, key.name);
      if (job && is_delegated(job->meta)) keys.push_back(std::move(key));
    }
  }

  // Pods of Jobs that are gone are not counted by anybody.
  Effects let_go_of_others(const api::ObjectKey& key, const std::string& living) const {
    Effects effects;
    for (const std::string& uid : pods_.uids_of(key))
      if (uid != living) let_go(pods_.of(uid), client::unless_exists(key, uid), effects);
    return effects;
  }

  static void let_go(const OwnedPods::ByName& pods, const std::optional<client::Write>& guard,
                     Effects& effects) {
    for (const auto& [name, pod] : pods) {
      if (!pod->meta.has_finalizer(kJobTracking)) continue;
      if (effects.chains.size() >= kPodsPerRunMax) return;
      client::Chain chain{client::key_of(Kind::Pod, pod->meta), {}};
      if (guard) chain.writes.push_back(*guard);
      chain.writes.push_back(drop_tracking(*pod));
      effects.chains.push_back(std::move(chain));
    }
  }

  // ttlSecondsAfterFinished.
  static void expire(const Parsed& job, Time now, Effects& effects) {
    const Json* ttl = job.spec().find("ttlSecondsAfterFinished");
    if (!ttl || !ttl->is_int()) return;
    Time finished = api::decode_time(job.status().string_at("completionTime"));
    const Json* failed = find_condition(job.status().items_at("conditions"), kJobFailed);
    if (!finished.is_set() && failed) finished = api::decode_time(failed->string_at("lastTransitionTime"));
    if (!finished.is_set()) return;
    const Time end = finished + Duration::seconds(ttl->as_int());
    if (now < end) {
      wake_by(effects, end);
      return;
    }
    // On the version: somebody may have given it more time.
    effects.chains.push_back(
        {job.key,
         {client::delete_object(job.key, job.meta.uid, -1, "Foreground", job.meta.resource_version)}});
  }

  OwnedPods pods_{jobs(),
                  "Job",
                  {.finalizer = std::string(kJobTracking),
                   .adopts_finished = true,
                   .names = [](const api::OwnerReference& owner, const api::Pod& pod) {
                     return job_pod_names(owner.name, owner.uid, completion_index(pod));
                   }}};
  RefusedWrites refusals_;
};

}  // namespace

std::unique_ptr<client::Reconciler> make_job() {
  return std::make_unique<Job>();
}

}  // namespace berth::workloads
