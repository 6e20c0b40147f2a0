#include "api/types/gang_decision.h"

namespace berth::api {
namespace {

constexpr std::string_view kCommitted = "Committed ";
constexpr std::string_view kAborted = "Aborted ";

}  // namespace

std::string_view decided_gang(const PodGroup& group) {
  std::string_view text = group.meta.annotation(kGangDecisionAnnotation);
  for (const std::string_view outcome : {kCommitted, kAborted})
    if (text.starts_with(outcome)) return text.substr(outcome.size());
  return {};
}

GangOutcome gang_outcome(const PodGroup& group, std::string_view decision_id) {
  if (decision_id.empty() || decided_gang(group) != decision_id) return GangOutcome::Undecided;
  return group.meta.annotation(kGangDecisionAnnotation).starts_with(kCommitted) ? GangOutcome::Committed
                                                                                : GangOutcome::Aborted;
}

std::string gang_decision_text(std::string_view decision_id, GangOutcome outcome) {
  BERTH_ASSERT(outcome != GangOutcome::Undecided, "only what is decided is told");
  return std::string(outcome == GangOutcome::Committed ? kCommitted : kAborted).append(decision_id);
}

}  // namespace berth::api
