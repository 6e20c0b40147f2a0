// The rows of workload_rules() (kinds/workload.cc).
#pragma once

#include <vector>

#include "api/kind_rules.h"

namespace berth::api {

KindRules job_rules();                // workload_job.cc
std::vector<KindRules> apps_rules();  // workload_apps.cc: deployments and similar kinds, cron jobs

}  // namespace berth::api
