// Defaults of apps/v1; defaults and checks of CronJob.
#include <charconv>
#include <utility>

#include "api/cron_schedule.h"
#include "api/kinds/core_parts.h"
#include "api/kinds/pod.h"
#include "api/kinds/workload_kinds.h"
#include "api/selectors.h"

namespace berth::api {
namespace {

constexpr int kHistoryLimit = 10;
constexpr int kProgressDeadlineSeconds = 600;

const TypeInfo& apps_type(std::string_view name) {
  return table_type("apps", "v1", name);
}

// The spec, created when absent.
Json& spec_of(Json& object, const TypeInfo& type) {
  put_default(object, type, "spec", Json::object());
  return *present(object, "spec");
}

// The strategy of an update: RollingUpdate by default; its limits, created when absent.
Json* rolling_update(Json& spec, const TypeInfo& spec_type, std::string_view key, const TypeInfo& type) {
  put_default(spec, spec_type, key, Json::object());
  Json& strategy = *present(spec, key);
  if (strategy.string_at("type").empty()) put(strategy, type, "type", "RollingUpdate");
  if (strategy.string_at("type") != "RollingUpdate") return nullptr;
  put_default(strategy, type, "rollingUpdate", Json::object());
  return present(strategy, "rollingUpdate");
}

void deployment_defaults(Json& deployment) {
  const TypeInfo& type = apps_type("DeploymentSpec");
  Json& spec = spec_of(deployment, apps_type("Deployment"));
  put_default(spec, type, "replicas", 1);
  if (Json* limits = rolling_update(spec, type, "strategy", apps_type("DeploymentStrategy")))
    for (std::string_view key : {"maxUnavailable", "maxSurge"})
      put_default(*limits, apps_type("RollingUpdateDeployment"), key, "25%");
  put_default(spec, type, "revisionHistoryLimit", kHistoryLimit);
  put_default(spec, type, "progressDeadlineSeconds", kProgressDeadlineSeconds);
  set_template_defaults(spec);
}

void replica_set_defaults(Json& set) {
  Json& spec = spec_of(set, apps_type("ReplicaSet"));
  put_default(spec, apps_type("ReplicaSetSpec"), "replicas", 1);
  set_template_defaults(spec);
}

// A template of a claim is written like a claim.
void set_claim_template_defaults(Json& claim) {
  static const TypeInfo& type = table_type("", "v1", "PersistentVolumeClaim");
  put(claim, type, "kind", "PersistentVolumeClaim");
  put(claim, type, "apiVersion", "v1");
  if (Json* spec = present(claim, "spec"))
    put_default(*spec, table_type("", "v1", "PersistentVolumeClaimSpec"), "volumeMode", "Filesystem");
  put_default(claim, type, "status", Json::object());
  if (present(claim, "status")->string_at("phase").empty())
    put(*present(claim, "status"), table_type("", "v1", "PersistentVolumeClaimStatus"), "phase", "Pending");
}

void stateful_set_defaults(Json& set) {
  const TypeInfo& type = apps_type("StatefulSetSpec");
  Json& spec = spec_of(set, apps_type("StatefulSet"));
  put_default(spec, type, "replicas", 1);
  put_default(spec, type, "podManagementPolicy", "OrderedReady");
  const TypeInfo& limits_type = apps_type("RollingUpdateStatefulSetStrategy");
  if (Json* limits = rolling_update(spec, type, "updateStrategy", apps_type("StatefulSetUpdateStrategy"))) {
    put_default(*limits, limits_type, "partition", 0);
    put_default(*limits, limits_type, "maxUnavailable", 1);
  }
  for (Json& claim : items(spec, "volumeClaimTemplates")) set_claim_template_defaults(claim);
  put_default(spec, type, "revisionHistoryLimit", kHistoryLimit);
  put_default(spec, type, "persistentVolumeClaimRetentionPolicy", Json::object());
  for (std::string_view key : {"whenDeleted", "whenScaled"})
    put_default(*present(spec, "persistentVolumeClaimRetentionPolicy"),
                apps_type("StatefulSetPersistentVolumeClaimRetentionPolicy"), key, "Retain");
  set_template_defaults(spec);
}

// Counts the changes of a daemon set's template.
constexpr std::string_view kTemplateGeneration = "deprecated.daemonset.template.generation";

std::int64_t template_generation_of(const Json& set) {
  const Json* text = present_at(set, {"metadata", "annotations", kTemplateGeneration});
  std::int64_t generation = 0;
  if (text)
    std::from_chars(text->as_string().data(), text->as_string().data() + text->as_string().size(),
                    generation);
  return generation;
}

void put_template_generation(Json& set, std::int64_t generation) {
  Json& metadata = set["metadata"];
  put_default(metadata, table_type("meta.k8s.io", "v1", "ObjectMeta"), "annotations", Json::object());
  metadata["annotations"][kTemplateGeneration] = std::to_string(generation);
}

void prepare_daemon_set(Json& set, const RuleContext&) {
  if (template_generation_of(set) < 1) put_template_generation(set, 1);
}

void prepare_daemon_set_update(Json& next, const Json& old, const RuleContext&) {
  const bool changes =
      !same(present_at(std::as_const(next), {"spec", "template"}), present_at(old, {"spec", "template"}));
  put_template_generation(next, template_generation_of(old) + (changes ? 1 : 0));
}

void daemon_set_defaults(Json& set) {
  const TypeInfo& type = apps_type("DaemonSetSpec");
  const TypeInfo& limits_type = apps_type("RollingUpdateDaemonSet");
  Json& spec = spec_of(set, apps_type("DaemonSet"));
  if (Json* limits = rolling_update(spec, type, "updateStrategy", apps_type("DaemonSetUpdateStrategy"))) {
    put_default(*limits, limits_type, "maxUnavailable", 1);
    put_default(*limits, limits_type, "maxSurge", 0);
  }
  if (!present_at(std::as_const(set), {"metadata", "annotations", kTemplateGeneration}))
    put_template_generation(set, 0);
  put_default(spec, type, "revisionHistoryLimit", kHistoryLimit);
  set_template_defaults(spec);
}

void cron_job_defaults(Json& job) {
  const TypeInfo& type = table_type("batch", "v1", "CronJobSpec");
  Json& spec = spec_of(job, table_type("batch", "v1", "CronJob"));
  put_default(spec, type, "concurrencyPolicy", "Allow");
  put_default(spec, type, "suspend", false);
  put_default(spec, type, "successfulJobsHistoryLimit", 3);
  put_default(spec, type, "failedJobsHistoryLimit", 1);
  Json* inner = present_at(spec, {"jobTemplate", "spec"});
  if (!inner) return;
  set_failure_policy_defaults(*inner);
  set_template_defaults(*inner);
}

// A name leaves room for "-" and the ten digits that its Jobs' names add.
constexpr std::size_t kCronNameBytesMax = 52;

FieldErrors check_cron_job(const Json& job, const Json* old) {
  const FieldPath path("spec");
  const Json& spec = job.part("spec");
  FieldErrors errors;
  const std::string_view schedule = spec.string_at("schedule");
  if (!schedule.empty() && !(old && old->part("spec").string_at("schedule") == schedule))
    if (const Result<CronSchedule> read = CronSchedule::parse(schedule); !read)
      errors.push_back(invalid(path.child("schedule"), schedule, read.error().text()));
  if (const Json* zone = spec.find("timeZone");
      zone && zone->is_string() && !(old && old->part("spec").string_at("timeZone") == zone->as_string()))
    if (const Result<TimeZone> found = TimeZone::find(zone->as_string()); !found)
      errors.push_back(invalid(path.child("timeZone"), *zone, found.error().message()));
  append(errors, check_one_of(path.child("concurrencyPolicy"), spec.string_at("concurrencyPolicy"),
                              {"Allow", "Forbid", "Replace"}));
  append(errors, check_job_template(path.child("jobTemplate"), spec.part("jobTemplate")));
  for (const std::string_view field :
       {"startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"})
    append(errors, check_not_negative(path.child(field), spec, field));
  if (schedule.empty()) errors.push_back(required(path.child("schedule")));
  return errors;
}

FieldErrors validate_cron_job(const Json& job, const RuleContext&) {
  FieldErrors errors = check_cron_job(job, nullptr);
  const std::string_view name = job.part("metadata").string_at("name");
  if (name.size() > kCronNameBytesMax)
    errors.push_back(
        invalid(FieldPath("metadata").child("name"), name, "must be no more than 52 characters"));
  return errors;
}

FieldErrors validate_cron_job_update(const Json& next, const Json& old, const RuleContext&) {
  return check_cron_job(next, &old);
}

std::vector<std::string> set_warnings(const Json& set, const Json* old, const RuleContext&) {
  return template_warnings(set, old, {"spec.template"});
}
std::vector<std::string> named_set_warnings(const Json& set, const Json* old, const RuleContext&) {
  return template_warnings(set, old, {"spec.template", true});
}
std::vector<std::string> cron_job_warnings(const Json& job, const Json* old, const RuleContext&) {
  return template_warnings(job, old, {"spec.jobTemplate.spec.template", true});
}

struct AppsRow {
  std::string_view resource;
  void (*set_defaults)(Json&);
  FieldErrors (*validate)(const Json&, const RuleContext&);
  FieldErrors (*validate_update)(const Json&, const Json&, const RuleContext&);
  NameRule name_rule = NameRule::Subdomain;
  void (*prepare_create)(Json&, const RuleContext&) = nullptr;
  void (*prepare_update)(Json&, const Json&, const RuleContext&) = nullptr;
  std::vector<std::string> (*warnings)(const Json&, const Json*, const RuleContext&) = set_warnings;
};
constexpr AppsRow kApps[] = {
    {"deployments", deployment_defaults, validate_deployment, validate_deployment_update, NameRule::Subdomain,
     nullptr, nullptr, named_set_warnings},
    {"replicasets", replica_set_defaults, validate_replica_set, validate_replica_set_update,
     NameRule::Subdomain, nullptr, nullptr, named_set_warnings},
    {"statefulsets", stateful_set_defaults, validate_stateful_set, validate_stateful_set_update,
     NameRule::Label},
    {"daemonsets", daemon_set_defaults, validate_daemon_set, validate_daemon_set_update, NameRule::Subdomain,
     prepare_daemon_set, prepare_daemon_set_update}};

}  // namespace

std::vector<KindRules> apps_rules() {
  std::vector<KindRules> all;
  for (const AppsRow& row : kApps) {
    KindRules rules;
    rules.group = "apps";
    rules.resource = row.resource;
    rules.name_rule = row.name_rule;
    rules.has_generation = true;
    rules.set_defaults = row.set_defaults;
    rules.validate_create = row.validate;
    rules.validate_update = row.validate_update;
    rules.prepare_create = row.prepare_create;
    rules.prepare_update = row.prepare_update;
    rules.warnings = row.warnings;
    all.push_back(rules);
  }
  KindRules cron;
  cron.group = "batch";
  cron.resource = "cronjobs";
  cron.has_generation = true;
  cron.set_defaults = cron_job_defaults;
  cron.validate_create = validate_cron_job;
  cron.validate_update = validate_cron_job_update;
  cron.warnings = cron_job_warnings;
  all.push_back(cron);
  return all;
}

}  // namespace berth::api
