#include "admission/match_conditions.h"

#include <algorithm>

namespace berth::admission {

std::string condition_problem(const cel::Environment& environment, std::string_view expression) {
  return compiled(environment, expression, ResultKind::Bool).problem;
}

MatchConditions::MatchConditions(const cel::Environment& environment, const JsonArray& conditions) {
  for (const Json& one : conditions) {
    if (conditions_.size() == kMatchConditionsMax) return;
    conditions_.push_back(compiled(environment, one.string_at("expression"), ResultKind::Bool));
  }
}

MatchResult MatchConditions::evaluate(std::span<const cel::Value> values) const {
  MatchResult result;
  std::uint64_t cost_left = kConditionsCostMax;
  std::vector<std::string> errors;
  for (const Expression& condition : conditions_) {
    if (!condition.program) {
      errors.push_back(error_text(condition, nullptr));
      continue;
    }
    const cel::EvalResult evaluated =
        condition.program->evaluate(values, {.limit = std::min(cost_left, cel::kSelectorCostMax)});
    cost_left -= std::min(cost_left, evaluated.cost);
    if (!evaluated.ok())
      errors.push_back(error_text(condition, &evaluated.failure()));
    else if (!evaluated.value().is_true())
      return {Match::No, ""};
  }
  if (errors.empty()) return result;
  result.match = Match::Failed;
  // Go's text of one error, or of several together.
  for (const std::string& error : errors) result.errors += (result.errors.empty() ? "" : ", ") + error;
  if (errors.size() > 1) result.errors = "[" + result.errors + "]";
  return result;
}

}  // namespace berth::admission
