#include "admission/policy.h"

#include <algorithm>

#include "base/ascii.h"
#include "cel/environment.h"

namespace berth::admission {
namespace {

using cel::Value;

constexpr std::string_view kOutOfBudget =
    "validation failed due to running out of cost budget, no further "
    "validation rules will be run";

// The type of a variable with this result; dyn where its name says too little.
cel::TypeRef variable_type(const Expression& expression) {
  static constexpr std::string_view kKnown[] = {"bool",
                                                "int",
                                                "uint",
                                                "double",
                                                "string",
                                                "bytes",
                                                "duration",
                                                "timestamp",
                                                "list(string)",
                                                "list(int)",
                                                "list(dyn)",
                                                "map(string, string)",
                                                "map(string, dyn)"};
  static constexpr std::string_view kGoNames[][2] = {{"google.protobuf.Duration", "duration"},
                                                     {"google.protobuf.Timestamp", "timestamp"}};
  std::string type = expression.program ? expression.program->result_type() : "dyn";
  for (const auto& [name, parsed] : kGoNames)
    if (type == name) type = parsed;
  const bool is_known = std::find(std::begin(kKnown), std::end(kKnown), type) != std::end(kKnown);
  return is_known ? cel::parse_type(type) : cel::simple_type(cel::TypeKind::Dyn);
}

cel::Environment& add_environment(Policy& policy, const std::vector<cel::Field>* variables) {
  cel::Environment& environment =
      policy.environments.emplace_back(cel::Environment::extending(admission_library()));
  declare_inputs(environment, policy.has_params());
  if (!variables) return environment;
  environment.declare_object(std::string(kVariablesType), *variables);
  environment.declare_variable("variables", cel::object_type(std::string(kVariablesType)));
  return environment;
}

// A variable may name those before it.
std::vector<cel::Field> read_variables(Policy& policy, const JsonArray& variables) {
  std::vector<cel::Field> fields;
  for (const Json& variable : variables) {
    if (policy.variables.size() == kPolicyVariablesMax) break;
    const cel::Environment& environment = add_environment(policy, &fields);
    PolicyVariable read{std::string(variable.string_at("name")),
                        compiled(environment, variable.string_at("expression"), ResultKind::Any)};
    fields.push_back({read.name, variable_type(read.expression)});
    policy.variables.push_back(std::move(read));
  }
  return fields;
}

// The values of variables, each evaluated when it is first read. Owner: one
// verdict.
class LazyVariables final : public cel::MapSource {
 public:
  LazyVariables(const Policy& policy, std::uint64_t& cost_left)
      : policy_(policy), cost_left_(cost_left), values_(policy.variables.size()) {}
  // `values` are those of every expression, these variables among them.
  void use(std::span<const Value> values) { inputs_ = values; }

  std::size_t size() const override { return values_.size(); }
  Value key_at(std::size_t index) const override {
    return Value::borrow_string(policy_.variables[index].name);
  }
  bool find(const Value& key, Value& out) const override {
    if (!key.is(cel::Kind::String)) return false;
    for (std::size_t i = values_.size(); i-- > 0;)
      if (policy_.variables[i].name == key.as_text()) {
        out = value_at(i);
        return true;
      }
    return false;
  }

 private:
  Value value_at(std::size_t index) const {
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

  Value evaluated(const PolicyVariable& variable) const {
    const std::string name = to_string(Json(variable.name));
    if (!variable.expression.program)
      return Value::error("composited variable " + name +
                          " fails to compile: " + variable.expression.problem);
    const cel::EvalResult result = variable.expression.program->evaluate(
        inputs_, {.limit = std::min(cost_left_, cel::kSelectorCostMax)});
    cost_left_ -= std::min(cost_left_, result.cost);
    if (result.ok()) return result.value();
    return Value::error("composited variable " + name + " fails to evaluate: " + result.failure().text);
  }

  const Policy& policy_;
  std::uint64_t& cost_left_;
  std::span<const Value> inputs_;
  mutable std::vector<std::optional<Value>> values_;
  mutable std::size_t open_ = 0;  // variables that are being evaluated
};

// One verdict while it is made.
class Judgement {
 public:
  Judgement(const Policy& policy, const ExpressionInputs& inputs, std::uint64_t& cost_left)
      : policy_(policy),
        cost_left_(cost_left),
        variables_(policy, cost_left),
        values_(values_of(inputs, policy.has_params())),
        condition_values_(values_) {
    values_.push_back(Value::borrow_map(variables_));
    variables_.use(values_);
  }

  PolicyVerdict verdict() {
    const MatchResult match = policy_.conditions.evaluate(condition_values_);
    if (match.match == Match::No) return {};
    if (match.match == Match::Failed) {
      fail(0, match.errors);
      return std::move(verdict_);
    }
    for (std::size_t i = 0; i < policy_.validations.size() && !is_out_of_budget_; ++i)
      validate(i, policy_.validations[i]);
    for (const AuditExpression& annotation : policy_.annotations)
      if (!is_out_of_budget_) annotate(annotation);
    return std::move(verdict_);
  }

 private:
  void fail(std::size_t index, std::string why) {
    if (!policy_.ignores_failures) verdict_.denials.push_back({index, std::move(why), ""});
  }

  // Nothing, and why, when there is no value.
  std::optional<Value> evaluate(const Expression& expression, std::string& why) {
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

  void validate(std::size_t index, const Validation& validation) {
    std::string why;
    const std::optional<Value> value = evaluate(validation.expression, why);
    if (!value) return fail(index, std::move(why));
    if (value->is_true()) return;
    verdict_.denials.push_back(
        {index, message_of(validation), validation.reason.empty() ? "Invalid" : validation.reason});
  }

  std::string message_of(const Validation& validation) {
    std::string message, why;
    if (validation.message_expression)
      if (const std::optional<Value> value = evaluate(*validation.message_expression, why);
          value && value->is(cel::Kind::String))
        message = trimmed(value->as_text());
    if (message.size() > kPolicyMessageBytesMax || message.find('\n') != std::string::npos) message.clear();
    if (message.empty()) message = trimmed(validation.message);
    return message.empty() ? "failed expression: " + std::string(trimmed(validation.expression.text))
                           : message;
  }

  void annotate(const AuditExpression& annotation) {
    std::string why;
    const std::optional<Value> value = evaluate(annotation.expression, why);
    if (!value) {
      if (!policy_.ignores_failures) verdict_.annotation_errors.push_back(std::move(why));
      return;
    }
    const std::string text =
        value->is(cel::Kind::String) ? std::string(trimmed(value->as_text())) : std::string();
    if (!text.empty())
      verdict_.annotations.emplace_back(annotation.key,
                                        text.substr(0, std::min(text.size(), kAuditValueBytesMax)));
  }

  const Policy& policy_;
  std::uint64_t& cost_left_;
  LazyVariables variables_;
  std::vector<Value> values_;
  const std::vector<Value> condition_values_;
  PolicyVerdict verdict_;
  bool is_out_of_budget_ = false;
};

std::optional<ParamReference> read_params(const Json& reference) {
  if (!reference.is_object()) return std::nullopt;
  ParamReference params;
  params.ns = reference.string_at("namespace");
  params.name = reference.string_at("name");
  params.may_be_absent = reference.string_at("parameterNotFoundAction") == "Allow";
  if (const Json* selector = reference.find("selector"); selector && selector->is_object())
    params.selector = api::LabelSelector::of(*selector).value_or(api::LabelSelector());
  return params;
}

}  // namespace

PolicyPtr read_policy(const Json& policy) {
  const Json& spec = policy.part("spec");
  auto read = std::make_shared<Policy>();
  read->name = policy.part("metadata").string_at("name");
  read->match = read_match_resources(spec.part("matchConstraints"));
  read->params_version = spec.part("paramKind").string_at("apiVersion");
  read->params_kind = spec.part("paramKind").string_at("kind");
  read->ignores_failures = spec.string_at("failurePolicy") == "Ignore";
  read->conditions = MatchConditions(add_environment(*read, nullptr), spec.items_at("matchConditions"));
  const std::vector<cel::Field> fields = read_variables(*read, spec.items_at("variables"));
  const cel::Environment& environment = add_environment(*read, &fields);
  for (const Json& one : spec.items_at("validations")) {
    if (read->validations.size() == kPolicyExpressionsMax) break;
    Validation validation;
    validation.expression = compiled(environment, one.string_at("expression"), ResultKind::Bool);
    if (const std::string_view text = one.string_at("messageExpression"); !text.empty())
      validation.message_expression = compiled(environment, text, ResultKind::String);
    validation.message = one.string_at("message");
    validation.reason = one.string_at("reason");
    read->validations.push_back(std::move(validation));
  }
  for (const Json& one : spec.items_at("auditAnnotations"))
    if (read->annotations.size() < kAuditAnnotationsMax)
      read->annotations.push_back(
          {std::string(one.string_at("key")),
           compiled(environment, one.string_at("valueExpression"), ResultKind::StringOrNull)});
  return read;
}

PolicyBinding read_policy_binding(const Json& binding) {
  const Json& spec = binding.part("spec");
  PolicyBinding read;
  read.name = binding.part("metadata").string_at("name");
  read.policy = spec.string_at("policyName");
  read.match = read_match_resources(spec.part("matchResources"));
  read.params = read_params(spec.part("paramRef"));
  read.actions = spec.part("validationActions");
  const JsonArray& actions = spec.items_at("validationActions");
  const auto has = [&](std::string_view action) {
    return std::find(actions.begin(), actions.end(), Json(action)) != actions.end();
  };
  read.denies = has("Deny");
  read.warns = has("Warn");
  read.audits = has("Audit");
  return read;
}

PolicyVerdict judge(const Policy& policy, const ExpressionInputs& inputs, std::uint64_t& cost_left) {
  return Judgement(policy, inputs, cost_left).verdict();
}

}  // namespace berth::admission
