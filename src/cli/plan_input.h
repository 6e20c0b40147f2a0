// Turns manifests into the documents of a plan: the objects that an API server would have stored.
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
  // Objects other than pods that an API server would refuse, with place and reason. A plan continues with
  // them: objects in a cluster may be older than today's rules.
  std::vector<std::string> warnings;
};

// Refuses objects without a name and duplicate objects. A pod that an API server would refuse becomes a
// document with its trouble. `now` is the time for the rules.
Result<PlanInput> plan_input(std::vector<Manifest> manifests, const api::Gates& gates, Time now);
// The same with the groups of other projects, which have no rules here.
Result<PlanInput> plan_input(ManifestSelection selection, const api::Gates& gates, Time now);

}  // namespace berth::cli
