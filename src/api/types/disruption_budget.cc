#include "api/types/disruption_budget.h"

namespace berth::api {

DisruptionBudget decode_disruption_budget(const Json& object, RawPtr raw) {
  DisruptionBudget budget = begin_decoded<DisruptionBudget>(object, std::move(raw));
  const Json& spec = object.part("spec");
  const Json& status = object.part("status");
  budget.selector = spec.part("selector");
  if (Result<LabelSelector> pods = LabelSelector::of(budget.selector)) budget.pods = *std::move(pods);
  budget.min_available = spec.part("minAvailable");
  budget.max_unavailable = spec.part("maxUnavailable");
  budget.lets_unready_go = spec.string_at("unhealthyPodEvictionPolicy") == "AlwaysAllow";
  budget.observed_generation = status.int_at("observedGeneration");
  budget.disruptions_allowed = status.int_at("disruptionsAllowed");
  budget.current_healthy = status.int_at("currentHealthy");
  budget.desired_healthy = status.int_at("desiredHealthy");
  budget.expected_pods = status.int_at("expectedPods");
  if (const Json& disrupted = status.part("disruptedPods"); disrupted.is_object())
    for (const JsonMember& entry : disrupted.as_object())
      budget.disrupted[entry.key] = decode_time(entry.value.is_string() ? entry.value.as_string() : "");
  budget.conditions = decode_conditions(status.items_at("conditions"));
  return budget;
}

}  // namespace berth::api
