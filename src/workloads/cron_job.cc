// CronJob: makes a Job at each time of its schedule. Source: pkg/controller/cronjob of Kubernetes 1.37.
#include <algorithm>

#include "api/cron_schedule.h"
#include "workloads/conditions.h"
#include "workloads/job_verdict.h"
#include "workloads/pod_set.h"

namespace berth::workloads {
namespace {

using api::CronSchedule;

// On the Jobs that the schedule asked for, not on those that people make of the template.
constexpr std::string_view kScheduledAt = "batch.kubernetes.io/cronjob-scheduled-timestamp";
// After the time itself, as clocks differ.
constexpr Duration kAfterSchedule = Duration::millis(100);

// A Job of a CronJob.
struct OwnedJob {
  Parsed job;
  Time scheduled;  // unset: somebody else made it
  bool complete = false, failed = false;
  bool ended() const { return complete || failed; }
};

std::vector<OwnedJob> jobs_of(const View& view, const Parsed& cron) {
  std::vector<OwnedJob> found;
  for (const api::AnyObject* object : controlled_others(view, jobs(), cron.meta.ns, cron.meta.uid)) {
    auto job = parse_other(key_in(jobs(), cron.meta.ns, object->meta.name), *object);
    if (!job) continue;
    const JsonArray& conditions = job->status().items_at("conditions");
    const bool complete = condition_is_true(conditions, kJobComplete);
    const bool failed = condition_is_true(conditions, kJobFailed);
    const Time scheduled = api::decode_time(job->meta.annotation(kScheduledAt));
    found.push_back({std::move(*job), scheduled, complete, failed});
  }
  return found;
}

std::string job_name(const Parsed& cron, Time scheduled) {
  return cron.meta.name + "-" + std::to_string(scheduled.whole_seconds() / 60);
}

Json new_job(const Parsed& cron, Time scheduled) {
  const Json& wanted = cron.spec().part("jobTemplate");
  Json metadata = Json::object({{"name", job_name(cron, scheduled)}, {"namespace", cron.meta.ns}});
  for (const std::string_view field : {"labels", "annotations"})
    if (const Json* value = wanted.part("metadata").find(field)) metadata[field] = *value;
  metadata["annotations"][kScheduledAt] = format_time(scheduled);
  metadata["ownerReferences"] =
      Json::array({api::to_json(controller_reference(cron, "batch/v1", "CronJob"))});
  return Json::object({{"apiVersion", "batch/v1"},
                       {"kind", "Job"},
                       {"metadata", std::move(metadata)},
                       {"spec", wanted.part("spec")}});
}

// One run of a CronJob's key.
class CronRun {
 public:
  CronRun(const View& view, Parsed cron, Time now)
      : view_(view), cron_(std::move(cron)), now_(now), jobs_(jobs_of(view, cron_)) {
    last_ = api::decode_time(cron_.status().string_at("lastScheduleTime"));
    for (const OwnedJob& owned : jobs_) {
      if (owned.scheduled.is_set() && (!last_.is_set() || last_ < owned.scheduled)) last_ = owned.scheduled;
      if (owned.scheduled.is_set() && !owned.ended()) active_.push_back(&owned);
    }
  }

  Effects go() {
    report_missing();
    write_status();
    if (cron_.meta.deleting()) return std::move(effects_);
    remove_old("successfulJobsHistoryLimit", &OwnedJob::complete);
    remove_old("failedJobsHistoryLimit", &OwnedJob::failed);
    if (!cron_.spec().bool_at("suspend") && takes_pods(view_, cron_.meta.ns)) start_due();
    return std::move(effects_);
  }

 private:
  void report(bool warning, std::string_view reason, std::string message) {
    effects_.events.push_back(event_about(cron_, warning, reason, std::move(message)));
  }

  // Jobs of status.active that somebody deleted. Those that the policy replaces are deleted here.
  void report_missing() {
    if (cron_.spec().string_at("concurrencyPolicy") == "Replace") return;
    for (const Json& active : cron_.status().items_at("active"))
      if (std::none_of(jobs_.begin(), jobs_.end(),
                       [&](const OwnedJob& owned) { return owned.job.meta.uid == active.string_at("uid"); }))
        report(false, "MissingJob", "Active job went missing: " + std::string(active.string_at("name")));
  }

  void start_due() {
    const std::string name(cron_.spec().string_at("timeZone"));
    const Result<api::TimeZone> zone = api::TimeZone::find(name.empty() ? "UTC" : name);
    if (!zone)
      return report(true, "UnknownTimeZone",
                    "invalid timeZone: " + to_string(Json(name)) + ": " + zone.error().message());
    const std::string text(cron_.spec().string_at("schedule"));
    const Result<CronSchedule> schedule = CronSchedule::parse(text);
    if (!schedule)
      return report(true, "UnparseableSchedule",
                    "unparseable schedule: \"" + text + "\" : " + schedule.error().text());
    const Time since = last_.is_set() ? last_ : cron_.meta.created;
    if (!since.is_set()) return;  // it was never stored
    const std::optional<Time> due = schedule->latest(since, now_, *zone);
    if (const auto next = schedule->next(due ? *due : since, *zone))
      effects_.wake_at = *next + kAfterSchedule;
    if (due) start(*due);
  }

  void start(Time due) {
    const Json* deadline = cron_.spec().find("startingDeadlineSeconds");
    // Compared as seconds: a deadline may be longer than a Duration.
    if (deadline && deadline->is_int() && (now_ - due).seconds_f() > static_cast<double>(deadline->as_int()))
      return report(true, "MissSchedule", "Missed scheduled time to start a job: " + format_time(due));
    const std::string_view policy = cron_.spec().string_at("concurrencyPolicy");
    if (policy == "Forbid" && !active_.empty())
      return report(false, "JobAlreadyActive",
                    "Not starting job because prior execution is running and concurrency policy is Forbid");
    if (policy == "Replace")
      for (const OwnedJob* running : active_) remove(*running);
    const Json job = new_job(cron_, due);
    const std::string name(job.part("metadata").string_at("name"));
    if (find_other(view_, jobs(), cron_.meta.ns, name)) return;  // of somebody else
    effects_.chains.push_back({key_in(jobs(), cron_.meta.ns, name), {create_other(jobs(), job)}});
    report(false, "SuccessfulCreate", "Created job " + name);
  }

  // Nothing for a Job that is being deleted.
  void remove(const OwnedJob& owned) {
    if (owned.job.meta.deleting()) return;
    const api::ObjectKey& key = owned.job.key;
    effects_.chains.push_back({key, {client::delete_object(key, owned.job.meta.uid, -1, "Background")}});
    report(false, "SuccessfulDelete", "Deleted job " + key.name);
  }

  // The oldest of those that ended so, beyond the limit.
  void remove_old(std::string_view limit_field, bool OwnedJob::* ended_so) {
    const Json* limit = cron_.spec().find(limit_field);
    if (!limit || !limit->is_int()) return;
    std::vector<const OwnedJob*> ended;
    for (const OwnedJob& owned : jobs_)
      if (owned.*ended_so && !owned.job.meta.deleting()) ended.push_back(&owned);
    std::sort(ended.begin(), ended.end(), [](const OwnedJob* a, const OwnedJob* b) {
      const auto rank = [](const OwnedJob* owned) {
        return std::pair(api::decode_time(owned->job.status().string_at("startTime")), owned->job.meta.name);
      };
      return rank(a) < rank(b);
    });
    const auto keep = static_cast<std::size_t>(std::max<std::int64_t>(0, limit->as_int()));
    for (std::size_t i = 0; i + keep < ended.size() && i < kPodsPerRunMax; ++i) remove(*ended[i]);
  }

  void write_status() {
    JsonArray active;
    for (const OwnedJob* owned : active_)
      active.push_back(Json::object({{"kind", "Job"},
                                     {"namespace", cron_.meta.ns},
                                     {"name", owned->job.meta.name},
                                     {"uid", owned->job.meta.uid},
                                     {"apiVersion", "batch/v1"}}));
    Time success = api::decode_time(cron_.status().string_at("lastSuccessfulTime"));
    for (const OwnedJob& owned : jobs_) {
      const Time ended = api::decode_time(owned.job.status().string_at("completionTime"));
      if (owned.complete && ended.is_set() && (!success.is_set() || success < ended)) success = ended;
    }
    JsonObject status;
    status.append("active", std::move(active));
    if (last_.is_set()) status.append("lastScheduleTime", format_time(last_));
    if (success.is_set()) status.append("lastSuccessfulTime", format_time(success));
    if (auto write = status_write(cron_, status)) effects_.chains.push_back({cron_.key, {std::move(*write)}});
  }

  const View& view_;
  const Parsed cron_;
  const Time now_;
  const std::vector<OwnedJob> jobs_;
  std::vector<const OwnedJob*> active_;  // of the schedule, not ended; also while pods of a deleted one run
  Time last_;                            // the newest time for which a Job was made
  Effects effects_;
};

class CronJob final : public client::Reconciler {
 public:
  std::string_view name() const override { return "cronjob-controller"; }

  std::vector<client::Interest> interests() const override {
    return {{Kind::Other, cron_jobs(),
             [](const View&, const Delta& delta, Keys& keys) { keys.push_back(delta.key); }},
            wakes_controller(Kind::Other, jobs(), cron_jobs(), "CronJob")};
  }

  Effects reconcile(const View& view, const api::ObjectKey& key, Time now) override {
    auto cron = find_parsed(view, key);
    return cron ? CronRun(view, std::move(*cron), now).go() : Effects::nothing();
  }
};

}  // namespace

std::unique_ptr<client::Reconciler> make_cron_job() {
  return std::make_unique<CronJob>();
}

}  // namespace berth::workloads
