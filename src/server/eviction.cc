#include "server/eviction.h"

#include "api/selectors.h"
#include "server/metadata.h"

namespace berth::server {
namespace {

constexpr int kRetryAfterS = 10;

ApiStatus blocked_by(std::string_view budget) {
  const std::string cause =
      "The disruption budget " + std::string(budget) + " is still being processed by the server.";
  return {.code = 429,
          .reason = "TooManyRequests",
          .message = "Cannot evict pod as it would violate the pod's disruption budget.",
          .has_details = true,
          .causes = {{"DisruptionBudget", cause, ""}},
          .retry_after_s = kRetryAfterS};
}

bool goes_freely(const Json& pod) {
  const std::string_view phase = pod.part("status").string_at("phase");
  return phase == "Pending" || phase == "Succeeded" || phase == "Failed" || is_deleting(pod);
}

}  // namespace

ApiResult<void> check_eviction(const Registry& registry, const ObjectTarget& pod) {
  const store::ObjectPtr stored = registry.store().get(key_of(pod));
  if (!stored) return not_found(pod.resource_name(), pod.name);
  const Json object = parse_json(stored->bytes).value_or(Json::object());
  if (goes_freely(object)) return {};
  store::ListQuery query;
  query.resource = "poddisruptionbudgets.policy";
  query.ns = pod.ns;
  const Result<store::ListPage> budgets = registry.store().list(query);
  if (!budgets) return internal_error(budgets.error().text());
  for (const store::ObjectPtr& candidate : budgets->objects) {
    const Json budget = parse_json(candidate->bytes).value_or(Json::object());
    const Result<api::LabelSelector> selector = api::LabelSelector::of(budget.part("spec").part("selector"));
    if (selector && selector->matches(metadata_of(object).find("labels")))
      return blocked_by(metadata_of(budget).string_at("name"));
  }
  return {};
}

}  // namespace berth::server
