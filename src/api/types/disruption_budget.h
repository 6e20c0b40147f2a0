// policy/v1 PodDisruptionBudget, as far as its controller and evictions need it.
#pragma once

#include <optional>

#include "api/selectors.h"
#include "api/types/meta.h"

namespace berth::api {

using DisruptedPods = std::map<std::string, Time>;  // by name: when the API server let it be evicted

struct DisruptionBudget {
  RawPtr raw;
  ObjectMeta meta;
  Json selector;                      // null selects nothing, {} every pod of the namespace
  std::optional<LabelSelector> pods;  // the same; none: it does not parse
  Json min_available;                 // a number, "30%" or null
  Json max_unavailable;               // the same
  bool lets_unready_go = false;       // unhealthyPodEvictionPolicy: AlwaysAllow
  std::int64_t observed_generation = 0;
  std::int64_t disruptions_allowed = 0, current_healthy = 0, desired_healthy = 0, expected_pods = 0;
  DisruptedPods disrupted;
  std::vector<Condition> conditions;
};

DisruptionBudget decode_disruption_budget(const Json& object, RawPtr raw);

}  // namespace berth::api
