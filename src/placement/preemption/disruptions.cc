#include "placement/preemption/disruptions.h"

#include "api/evictions.h"
#include "base/fnv.h"

namespace berth::placement {
namespace {

std::int64_t permitted(const api::DisruptionBudget& budget) {
  return api::is_processed(budget) ? budget.disruptions_allowed : 0;
}

}  // namespace

bool Disruptions::count(const api::Pod& pod) {
  if (api::is_evicted_freely(pod.phase, pod.meta.deleting())) return true;
  const api::DisruptionBudget* found = nullptr;
  const auto& budgets = view_->disruption_budgets.all();
  for (auto at = budgets.lower_bound({pod.meta.ns, ""}); at != budgets.end() && at->first.ns == pod.meta.ns;
       ++at) {
    const api::DisruptionBudget& budget = *at->second;
    if (!budget.pods || !budget.pods->matches(pod.meta.labels)) continue;
    if (found) return false;  // the API does not evict a pod of two budgets
    found = &budget;
  }
  if (!found || found->disrupted.contains(pod.meta.name)) return true;
  if (!api::condition_is_true(pod.conditions, "Ready") && api::lets_unready_pods_go(*found)) return true;
  return --left_.try_emplace(found, permitted(*found)).first->second >= 0;
}

bool is_protected(const client::View& view, const api::Pod& pod) {
  return !Disruptions(view).count(pod);
}

std::uint64_t protection_digest(const client::View& view) {
  std::string text;
  for (const auto& [name, budget] : view.disruption_budgets.all())
    text.append(budget->meta.uid)
        .append(std::to_string(budget->meta.generation))
        .append(permitted(*budget) > 0 ? "+" : "-")
        .append(api::lets_unready_pods_go(*budget) ? "+" : "-");
  return fnv1a(text);
}

}  // namespace berth::placement
