#include "admission/policy_evaluation.h"

#include <algorithm>

namespace berth::admission {
namespace {

using cel::Value;

}  // namespace

Value LazyVariables::key_at(std::size_t index) const {
  return Value::borrow_string(policy_.variables[index].name);
}

bool LazyVariables::find(const Value& key, Value& out) const {
  if (!key.is(cel::Kind::String)) return false;
  for (std::size_t i = values_.size(); i-- > 0;)
    if (policy_.variables[i].name == key.as_text()) {
      out = value_at(i);
      return true;
    }
  return false;
}

Value LazyVariables::value_at(std::size_t index) const {
  const PolicyVariable& variable = policy_.variables[index];
  if (values_[index]) return *values_[index];
  // Not kept: an expression that begins nearer to the variable may read it.
  if (open_ == kPolicyVariableNestingMax)
    return Value::error("composited variable " + to_string(Json(variable.name)) +
                        " is read through more than " + std::to_string(kPolicyVariableNestingMax) +
                        " others");
  // What it is to itself: `dyn(variables)` and a second variable of its name get past the compiler.
  values_[index] = Value::error("composited variable " + to_string(Json(variable.name)) + " reads itself");
  ++open_;
  values_[index] = evaluated(variable);
  --open_;
  return *values_[index];
}

Value LazyVariables::evaluated(const PolicyVariable& variable) const {
  const std::string name = to_string(Json(variable.name));
  if (!variable.expression.program)
    return Value::error("composited variable " + name + " fails to compile: " + variable.expression.problem);
  const cel::EvalResult result =
      variable.expression.program->evaluate(inputs_, {.limit = std::min(cost_left_, cel::kSelectorCostMax)});
  cost_left_ -= std::min(cost_left_, result.cost);
  if (result.ok()) return result.value();
  return Value::error("composited variable " + name + " fails to evaluate: " + result.failure().text);
}

PolicyEvaluation::PolicyEvaluation(const Policy& policy, const ExpressionInputs& inputs,
                                   std::uint64_t& cost_left)
    : cost_left_(cost_left), variables_(policy, cost_left), values_(values_of(inputs, policy.has_params())) {
  values_.push_back(Value::borrow_map(variables_));
  variables_.use(values_);
}

std::optional<Value> PolicyEvaluation::value_of(const Expression& expression, std::string& why) {
  if (!expression.program) {
    why = error_text(expression, nullptr);
    return std::nullopt;
  }
  const cel::EvalResult result =
      expression.program->evaluate(values_, {.limit = std::min(cost_left_, cel::kSelectorCostMax)});
  is_out_of_budget_ = result.cost > cost_left_ || cost_left_ == 0;
  cost_left_ -= std::min(cost_left_, result.cost);
  if (!is_out_of_budget_ && result.ok()) return result.value();
  why = is_out_of_budget_ ? std::string(kOutOfBudget) : error_text(expression, &result.failure());
  return std::nullopt;
}

}  // namespace berth::admission
