// What a PodDisruptionBudget allows. Pure functions of the view.
//
// Source: kube-controller-manager 1.37, disruption controller.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/selectors.h"
#include "client/view.h"

namespace berth::controllers {

// Those of the owners whose scale counts: a budget depends on their spec.replicas.
const std::vector<api::ResourceRef>& scaled_resources();
// How long an evicted pod may stay undeleted before it counts again.
inline constexpr Duration kDeletionTimeout = Duration::minutes(2);
inline constexpr std::string_view kDisruptionAllowed = "DisruptionAllowed";

using api::DisruptedPods;
using api::DisruptionBudget;

struct BudgetStatus {
  std::int64_t disruptions_allowed = 0, current_healthy = 0, desired_healthy = 0, expected_pods = 0;
  DisruptedPods disrupted;                   // those that still hold their entry
  std::optional<Time> recheck;               // when the next of them ends
  std::vector<const api::Pod*> not_deleted;  // those whose entry ended though they live
  std::vector<const api::Pod*> unmanaged;    // without a controller, where its scale is needed
  std::size_t pods = 0;                      // selected
};

// The pods that the budget selects, by name. Cost: O(pods of the namespace). Refuses a selector that does not
// parse.
Result<std::vector<const api::Pod*>> pods_of_budget(const client::View& view, const DisruptionBudget& budget);

// Refuses, in Kubernetes' words, pods whose owner is unknown or has no scale, and amounts that are neither a
// number nor a percentage: such a budget allows nothing. Cost: that of pods_of_budget(), and a parse of each
// owner.
Result<BudgetStatus> budget_status(const client::View& view, const DisruptionBudget& budget, Time now);

// A selector as Go prints it: "&LabelSelector{MatchLabels:map[string]string{app: web,},…}".
std::string go_text(const Json& selector);

}  // namespace berth::controllers
