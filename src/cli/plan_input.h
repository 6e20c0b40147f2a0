// Manifests become the documents of a plan: what an API server would have stored of them.
//
// Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/manifests.h"
#include "planning/plan.h"

namespace berth::cli {

struct PlanInput {
  std::vector<planning::Document> documents;  // in the order of the manifests
  // Objects other than pods that an API server would refuse, with place and reason. A plan goes on with them:
  // objects that a cluster has stored may be older than today's rules.
  std::vector<std::string> warnings;
};

// Refuses objects without a name and an object that stands there twice. A pod that an API server would refuse
// becomes a document with its trouble. `now` is what rules see as the time.
Result<PlanInput> plan_input(std::vector<Manifest> manifests, const api::Gates& gates, Time now);

}  // namespace berth::cli
