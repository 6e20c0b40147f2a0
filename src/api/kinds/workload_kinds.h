// The rows of workload_rules() (kinds/workload.cc).
#pragma once

#include <vector>

#include "api/kind_rules.h"

namespace berth::api {

// workload_job.cc
KindRules job_rules();
void set_failure_policy_defaults(Json& job_spec);

std::vector<KindRules> apps_rules();  // workload_apps.cc: deployments and similar kinds, cron jobs

// workload_job_checks.cc
FieldErrors check_job_spec(const FieldPath& path, const Json& spec);
FieldErrors check_job_template(const FieldPath& path, const Json& job_template);  // of a cron job

// workload_apps_checks.cc
FieldErrors check_amount_or_percent(const std::string& path, const Json& amount);
// Labels that the selector does not find; without a selector, no labels are found. `path`: of the template.
FieldErrors check_found(const FieldPath& path, const Json* selector, const Json* labels);
FieldErrors check_pod_template(const FieldPath& path, const Json& pod_template);
FieldErrors validate_replication_controller(const Json& object, const RuleContext&);
FieldErrors validate_deployment(const Json& object, const RuleContext&);
FieldErrors validate_deployment_update(const Json& next, const Json& old, const RuleContext&);
FieldErrors validate_replica_set(const Json& object, const RuleContext&);
FieldErrors validate_replica_set_update(const Json& next, const Json& old, const RuleContext&);
FieldErrors validate_stateful_set(const Json& object, const RuleContext&);
FieldErrors validate_stateful_set_update(const Json& next, const Json& old, const RuleContext&);
FieldErrors validate_daemon_set(const Json& object, const RuleContext&);
FieldErrors validate_daemon_set_update(const Json& next, const Json& old, const RuleContext&);

}  // namespace berth::api
