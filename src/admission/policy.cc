#include "admission/policy.h"

#include <algorithm>

#include "admission/policy_evaluation.h"
#include "base/ascii.h"
#include "cel/environment.h"

namespace berth::admission {
namespace {

using cel::Value;

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

// What the expressions of a policy are compiled with.
struct Declarations {
  const cel::Environment& library;
  InputTypes types = {};
};

cel::Environment& add_environment(Policy& policy, const std::vector<cel::Field>* variables,
                                  const Declarations& declared) {
  cel::Environment& environment =
      policy.environments.emplace_back(cel::Environment::extending(declared.library));
  declare_inputs(environment, policy.has_params(), declared.types);
  if (!variables) return environment;
  environment.declare_object(std::string(kVariablesType), *variables);
  environment.declare_variable("variables", cel::object_type(std::string(kVariablesType)));
  return environment;
}

// A variable may name those before it.
std::vector<cel::Field> read_variables(Policy& policy, const JsonArray& variables,
                                       const Declarations& declared) {
  std::vector<cel::Field> fields;
  for (const Json& variable : variables) {
    if (policy.variables.size() == kPolicyVariablesMax) break;
    const cel::Environment& environment = add_environment(policy, &fields, declared);
    PolicyVariable read{std::string(variable.string_at("name")),
                        compiled(environment, variable.string_at("expression"), ResultKind::Any)};
    fields.push_back({read.name, variable_type(read.expression)});
    policy.variables.push_back(std::move(read));
  }
  return fields;
}

// One verdict while it is made.
class Judgement {
 public:
  Judgement(const Policy& policy, const ExpressionInputs& inputs, std::uint64_t& cost_left)
      : policy_(policy), inputs_(inputs), evaluation_(policy, inputs, cost_left) {}

  PolicyVerdict verdict() {
    const MatchResult match = policy_.conditions.evaluate(values_of(inputs_, policy_.has_params()));
    if (match.match == Match::No) return {};
    if (match.match == Match::Failed) {
      fail(0, match.errors);
      return std::move(verdict_);
    }
    for (std::size_t i = 0; i < policy_.validations.size() && !evaluation_.is_out_of_budget(); ++i)
      validate(i, policy_.validations[i]);
    for (const AuditExpression& annotation : policy_.annotations)
      if (!evaluation_.is_out_of_budget()) annotate(annotation);
    return std::move(verdict_);
  }

 private:
  void fail(std::size_t index, std::string why) {
    if (policy_.ignores_failures)
      verdict_.ignored.push_back(std::move(why));
    else
      verdict_.denials.push_back({index, std::move(why), ""});
  }

  void validate(std::size_t index, const Validation& validation) {
    std::string why;
    const std::optional<Value> value = evaluation_.value_of(validation.expression, why);
    if (!value) return fail(index, std::move(why));
    if (value->is_true()) return;
    verdict_.denials.push_back(
        {index, message_of(validation), validation.reason.empty() ? "Invalid" : validation.reason});
  }

  std::string message_of(const Validation& validation) {
    std::string message, why;
    if (validation.message_expression)
      if (const std::optional<Value> value = evaluation_.value_of(*validation.message_expression, why);
          value && value->is(cel::Kind::String))
        message = trimmed(value->as_text());
    if (message.size() > kPolicyMessageBytesMax || message.find('\n') != std::string::npos) message.clear();
    if (message.empty()) message = trimmed(validation.message);
    return message.empty() ? "failed expression: " + std::string(trimmed(validation.expression.text))
                           : message;
  }

  void annotate(const AuditExpression& annotation) {
    std::string why;
    const std::optional<Value> value = evaluation_.value_of(annotation.expression, why);
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
  const ExpressionInputs& inputs_;
  PolicyEvaluation evaluation_;
  PolicyVerdict verdict_;
};

void read_validations(Policy& policy, const Json& spec, const cel::Environment& environment) {
  for (const Json& one : spec.items_at("validations")) {
    if (policy.validations.size() == kPolicyExpressionsMax) break;
    Validation validation;
    validation.expression = compiled(environment, one.string_at("expression"), ResultKind::Bool);
    if (const std::string_view text = one.string_at("messageExpression"); !text.empty())
      validation.message_expression = compiled(environment, text, ResultKind::String);
    validation.message = one.string_at("message");
    validation.reason = one.string_at("reason");
    policy.validations.push_back(std::move(validation));
  }
  for (const Json& one : spec.items_at("auditAnnotations"))
    if (policy.annotations.size() < kAuditAnnotationsMax)
      policy.annotations.push_back(
          {std::string(one.string_at("key")),
           compiled(environment, one.string_at("valueExpression"), ResultKind::StringOrNull)});
}

void read_mutations(Policy& policy, const Json& spec, const cel::Environment& environment) {
  policy.may_run_again = spec.string_at("reinvocationPolicy") == "IfNeeded";
  for (const Json& one : spec.items_at("mutations")) {
    if (policy.mutations.size() == kPolicyExpressionsMax) break;
    const bool applies = one.string_at("patchType") == kApplyConfiguration;
    const std::string_view text =
        one.part(applies ? "applyConfiguration" : "jsonPatch").string_at("expression");
    policy.mutations.push_back(
        {applies ? PatchKind::ApplyConfiguration : PatchKind::JsonPatch,
         compiled(environment, text, applies ? ResultKind::Object : ResultKind::JsonPatch)});
  }
}

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

PolicyPtr read_with(const Json& policy, Phase phase, const Declarations& declared) {
  const Json& spec = policy.part("spec");
  auto read = std::make_shared<Policy>();
  read->name = policy.part("metadata").string_at("name");
  read->match = read_match_resources(spec.part("matchConstraints"));
  read->params_version = spec.part("paramKind").string_at("apiVersion");
  read->params_kind = spec.part("paramKind").string_at("kind");
  read->ignores_failures = spec.string_at("failurePolicy") == "Ignore";
  read->conditions =
      MatchConditions(add_environment(*read, nullptr, declared), spec.items_at("matchConditions"));
  const std::vector<cel::Field> fields = read_variables(*read, spec.items_at("variables"), declared);
  if (phase == Phase::Validating)
    read_validations(*read, spec, add_environment(*read, &fields, declared));
  else
    read_mutations(*read, spec, add_environment(*read, &fields, {mutation_library(), declared.types}));
  return read;
}

}  // namespace

PolicyPtr read_policy(const Json& policy, Phase phase) {
  return read_with(policy, phase, {admission_library()});
}

PolicyPtr read_typed_policy(const Json& policy, const cel::Environment& library, const InputTypes& types) {
  return read_with(policy, Phase::Validating, {library, types});
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

std::string_view policy_error_type(std::string_view message) {
  if (message.starts_with("compilation")) return "compile_error";
  return message == kOutOfBudget ? "out_of_budget" : "invalid_error";
}

PolicyVerdict judge(const Policy& policy, const ExpressionInputs& inputs, std::uint64_t& cost_left) {
  return Judgement(policy, inputs, cost_left).verdict();
}

}  // namespace berth::admission
