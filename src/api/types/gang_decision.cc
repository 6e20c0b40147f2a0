#include "api/types/gang_decision.h"

namespace berth::api {
namespace {

constexpr std::string_view kCommitted = "Committed";
constexpr std::string_view kAborted = "Aborted";

bool annotated(const GangRegister& group, std::string_view outcome, std::string_view decision_id) {
  const std::string_view text = group.meta->annotation(kGangDecisionAnnotation);
  return text.size() == outcome.size() + 1 + decision_id.size() && text.starts_with(outcome) &&
         text[outcome.size()] == ' ' && text.ends_with(decision_id);
}

}  // namespace

GangOutcome gang_outcome(const GangRegister& group, std::string_view decision_id) {
  if (decision_id.empty()) return GangOutcome::Undecided;
  const Condition* told = find_condition(*group.conditions, kGangCommitted);
  if (told && told->message == decision_id)
    return told->status == "True" ? GangOutcome::Committed : GangOutcome::Aborted;
  if (annotated(group, kCommitted, decision_id)) return GangOutcome::Committed;
  return annotated(group, kAborted, decision_id) ? GangOutcome::Aborted : GangOutcome::Undecided;
}

Condition gang_condition(const GangRegister& group, std::string_view decision_id, GangOutcome outcome,
                         Time now) {
  BERTH_ASSERT(outcome != GangOutcome::Undecided, "only what is decided is told");
  const bool committed = outcome == GangOutcome::Committed;
  return keeping_transition(*group.conditions, {std::string(kGangCommitted), committed ? "True" : "False",
                                                std::string(committed ? kCommitted : kAborted),
                                                std::string(decision_id), now, group.meta->generation});
}

Condition scheduled_condition(const GangRegister& group, bool scheduled, const std::string& reason,
                              const std::string& message, Time now) {
  return {std::string(group.scheduled), scheduled ? "True" : "False", reason, message, now, 0};
}

bool is_scheduled(const GangRegister& group) {
  return condition_is_true(*group.conditions, group.scheduled);
}

}  // namespace berth::api
