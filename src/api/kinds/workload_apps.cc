// Defaults of apps/v1 and CronJob. Of CronJobs enough for apply, diff and describe: no controller handles
// them.
#include "api/kinds/core_parts.h"
#include "api/kinds/pod.h"
#include "api/kinds/workload_kinds.h"

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

void stateful_set_defaults(Json& set) {
  const TypeInfo& type = apps_type("StatefulSetSpec");
  Json& spec = spec_of(set, apps_type("StatefulSet"));
  put_default(spec, type, "replicas", 1);
  put_default(spec, type, "podManagementPolicy", "OrderedReady");
  if (Json* limits = rolling_update(spec, type, "updateStrategy", apps_type("StatefulSetUpdateStrategy")))
    put_default(*limits, apps_type("RollingUpdateStatefulSetStrategy"), "partition", 0);
  put_default(spec, type, "revisionHistoryLimit", kHistoryLimit);
  put_default(spec, type, "persistentVolumeClaimRetentionPolicy", Json::object());
  for (std::string_view key : {"whenDeleted", "whenScaled"})
    put_default(*present(spec, "persistentVolumeClaimRetentionPolicy"),
                apps_type("StatefulSetPersistentVolumeClaimRetentionPolicy"), key, "Retain");
  set_template_defaults(spec);
}

void daemon_set_defaults(Json& set) {
  const TypeInfo& type = apps_type("DaemonSetSpec");
  const TypeInfo& limits_type = apps_type("RollingUpdateDaemonSet");
  Json& spec = spec_of(set, apps_type("DaemonSet"));
  if (Json* limits = rolling_update(spec, type, "updateStrategy", apps_type("DaemonSetUpdateStrategy"))) {
    put_default(*limits, limits_type, "maxUnavailable", 1);
    put_default(*limits, limits_type, "maxSurge", 0);
  }
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
  if (Json* inner = present_at(spec, {"jobTemplate", "spec"})) set_template_defaults(*inner);
}

FieldErrors check_replicas(const FieldPath& path, const Json& spec) {
  return check_not_negative(path.child("replicas"), spec, "replicas");
}

FieldErrors validate_apps(const Json& object, const RuleContext&) {
  const FieldPath path("spec");
  const Json& spec = *present(object, "spec");
  FieldErrors errors = check_replicas(path, spec);
  const Json* selector = present(spec, "selector");
  if (!selector) errors.push_back(required(path.child("selector")));
  if (selector) append(errors, check_label_selector(path.child("selector"), *selector));
  const FieldPath pod_spec = path.child("template").child("spec");
  if (const Json* inner = present_at(spec, {"template", "spec"}))
    append(errors, check_pod_spec(pod_spec, *inner, ""));
  return errors;
}

FieldErrors validate_apps_update(const Json& next, const Json& old, const RuleContext& ctx) {
  FieldErrors errors = validate_apps(next, ctx);
  append(errors, check_immutable("spec.selector", present_at(next, {"spec", "selector"}),
                                 present_at(old, {"spec", "selector"})));
  return errors;
}

struct AppsRow {
  std::string_view resource;
  void (*set_defaults)(Json&);
};
constexpr AppsRow kApps[] = {{"deployments", deployment_defaults},
                             {"replicasets", replica_set_defaults},
                             {"statefulsets", stateful_set_defaults},
                             {"daemonsets", daemon_set_defaults}};

}  // namespace

std::vector<KindRules> apps_rules() {
  std::vector<KindRules> all;
  for (const AppsRow& row : kApps) {
    KindRules rules;
    rules.group = "apps";
    rules.resource = row.resource;
    rules.has_generation = true;
    rules.set_defaults = row.set_defaults;
    rules.validate_create = validate_apps;
    rules.validate_update = validate_apps_update;
    all.push_back(rules);
  }
  KindRules cron;
  cron.group = "batch";
  cron.resource = "cronjobs";
  cron.has_generation = true;
  cron.set_defaults = cron_job_defaults;
  all.push_back(cron);
  return all;
}

}  // namespace berth::api
