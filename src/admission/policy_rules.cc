#include "admission/policy_rules.h"

#include <algorithm>
#include <set>

#include "admission/policy.h"
#include "admission/rule_checks.h"
#include "api/kinds/core_parts.h"
#include "api/names.h"
#include "base/ascii.h"

namespace berth::admission {
namespace {

using api::FieldErrors;
using api::FieldPath;

constexpr std::size_t kValueExpressionBytesMax = 5 * 1024;

const api::TypeInfo& type_of(std::string_view name) {
  return api::table_type(kRegistrationGroup, "v1", name);
}

void set_match_defaults(Json* match) {
  static const api::TypeInfo &type = type_of("MatchResources"),
                             &rule_type = type_of("NamedRuleWithOperations");
  if (!match) return;
  api::put_default(*match, type, "matchPolicy", "Equivalent");
  api::put_default(*match, type, "namespaceSelector", Json::object());
  api::put_default(*match, type, "objectSelector", Json::object());
  for (const std::string_view list : {"resourceRules", "excludeResourceRules"})
    for (Json& rule : api::items(*match, list)) api::put_default(rule, rule_type, "scope", "*");
}

template <Phase phase>
void set_policy_defaults(Json& policy) {
  static const api::TypeInfo& type =
      type_of(phase == Phase::Validating ? "ValidatingAdmissionPolicySpec" : "MutatingAdmissionPolicySpec");
  if (Json* spec = api::present(policy, "spec")) api::put_default(*spec, type, "failurePolicy", "Fail");
  set_match_defaults(api::present_at(policy, {"spec", "matchConstraints"}));
}

void set_binding_defaults(Json& binding) {
  set_match_defaults(api::present_at(binding, {"spec", "matchResources"}));
}

bool is_blank(std::string_view text) {
  return trimmed(text).empty();
}

void check_named_rules(FieldErrors& errors, const JsonArray& rules, const FieldPath& path) {
  for (std::size_t i = 0; i < rules.size() && !errors.full(); ++i) {
    std::set<std::string_view> names;
    const JsonArray& listed = rules[i].items_at("resourceNames");
    for (std::size_t n = 0; n < listed.size(); ++n) {
      const std::string_view name = listed[n].is_string() ? std::string_view(listed[n].as_string()) : "";
      const FieldPath here = path.index(i).child("resourceNames").index(n);
      for (const std::string& problem : api::path_segment_problems(name))
        errors.push_back(api::invalid(here, name, problem));
      if (!names.insert(name).second) errors.push_back(api::duplicate(here, name));
    }
    check_rule(errors, rules[i], path.index(i));
  }
}

void check_match(FieldErrors& errors, const Json& match, const FieldPath& path) {
  check_choice(errors, match, "matchPolicy", {"Equivalent", "Exact"}, path);
  api::append(errors, selector_problems(match, path));
  check_named_rules(errors, match.items_at("resourceRules"), path.child("resourceRules"));
  check_named_rules(errors, match.items_at("excludeResourceRules"), path.child("excludeResourceRules"));
}

void check_param_kind(FieldErrors& errors, const Json& kind, const FieldPath& path) {
  const std::string_view version = kind.string_at("apiVersion"), name = kind.string_at("kind");
  const std::size_t slash = version.find('/');
  if (version.empty()) {
    errors.push_back(api::required(path.child("apiVersion")));
  } else {
    const std::string_view group = slash == std::string_view::npos ? "" : version.substr(0, slash);
    const std::string_view plain = slash == std::string_view::npos ? version : version.substr(slash + 1);
    if (!group.empty())
      if (const auto problems = api::dns_subdomain_problems(group); !problems.empty())
        errors.push_back(api::invalid(path.child("apiVersion"), group, joined(problems)));
    if (plain.empty())
      errors.push_back(api::invalid(path.child("apiVersion"), version, "version must be specified"));
    else if (const auto problems = api::dns_1035_label_problems(plain); !problems.empty())
      errors.push_back(api::invalid(path.child("apiVersion"), plain, joined(problems)));
  }
  if (name.empty()) errors.push_back(api::required(path.child("kind")));
}

void check_variables(FieldErrors& errors, const Policy& policy, const JsonArray& variables,
                     const FieldPath& path) {
  if (variables.size() > kPolicyVariablesMax)
    errors.push_back(api::too_many(path, variables.size(), kPolicyVariablesMax));
  const auto is_identifier = [](std::string_view name) {
    return !is_digit(name.front()) &&
           std::all_of(name.begin(), name.end(), [](char c) { return is_alphanumeric(c) || c == '_'; });
  };
  for (std::size_t i = 0; i < policy.variables.size() && !errors.full(); ++i) {
    const PolicyVariable& variable = policy.variables[i];
    const FieldPath here = path.index(i);
    if (is_blank(variable.name))
      errors.push_back(api::required(here.child("name"), "name is not specified"));
    else if (!is_identifier(variable.name))
      errors.push_back(api::invalid(here.child("name"), variable.name, "must be a valid CEL identifier"));
    if (is_blank(variable.expression.text))
      errors.push_back(api::required(here.child("expression"), "expression is not specified"));
    else if (!variable.expression.problem.empty())
      errors.push_back(
          api::invalid(here.child("expression"), variable.expression.text, variable.expression.problem));
  }
}

void check_validation(FieldErrors& errors, const Validation& validation, const Json& given,
                      const FieldPath& path) {
  const Expression& expression = validation.expression;
  if (is_blank(expression.text))
    errors.push_back(api::required(path.child("expression"), "expression is not specified"));
  else if (!expression.problem.empty())
    errors.push_back(api::invalid(path.child("expression"), expression.text, expression.problem));
  if (validation.message_expression) {
    const Expression& message = *validation.message_expression;
    const std::string problem = is_blank(message.text) ? "must be non-empty if specified" : message.problem;
    if (!problem.empty())
      errors.push_back(api::invalid(path.child("messageExpression"), message.text, problem));
  }
  const std::string& message = validation.message;
  if (!message.empty() && is_blank(message))
    errors.push_back(api::invalid(path.child("message"), message, "must be non-empty if specified"));
  else if (message.find_first_of("\n\r") != std::string::npos)
    errors.push_back(api::invalid(path.child("message"), message, "must not contain line breaks"));
  check_choice(errors, given, "reason", {"Forbidden", "Invalid", "RequestEntityTooLarge"}, path);
}

void check_annotations(FieldErrors& errors, const Policy& policy, const JsonArray& annotations,
                       const FieldPath& path) {
  if (annotations.size() > kAuditAnnotationsMax)
    errors.push_back(api::invalid(path, annotations, "must not have more than 20 auditAnnotations"));
  std::set<std::string_view> keys;
  for (std::size_t i = 0; i < policy.annotations.size() && !errors.full(); ++i) {
    const AuditExpression& annotation = policy.annotations[i];
    const FieldPath here = path.index(i);
    for (const std::string& problem : api::qualified_name_problems(policy.name + "/" + annotation.key))
      errors.push_back(api::invalid(here.child("key"), policy.name + "/" + annotation.key, problem));
    if (is_blank(annotation.expression.text))
      errors.push_back(api::required(here.child("valueExpression"), "valueExpression is not specified"));
    else if (annotation.expression.text.size() > kValueExpressionBytesMax)
      errors.push_back(api::required(here.child("valueExpression"), "must not exceed 5120 bytes in length"));
    else if (!annotation.expression.problem.empty())
      errors.push_back(api::invalid(here.child("valueExpression"), annotation.expression.text,
                                    annotation.expression.problem));
    if (!keys.insert(annotation.key).second)
      errors.push_back(api::duplicate(here.child("key"), annotation.key));
  }
}

void check_what_is_said(FieldErrors& errors, const Policy& policy, const Json& spec, const FieldPath& path) {
  constexpr std::string_view kNone = "validations or auditAnnotations must contain at least one item";
  const JsonArray &validations = spec.items_at("validations"),
                  &annotations = spec.items_at("auditAnnotations");
  if (validations.empty() && annotations.empty()) {
    errors.push_back(api::required(path.child("validations"), kNone));
    return errors.push_back(api::required(path.child("auditAnnotations"), kNone));
  }
  if (validations.size() > kPolicyExpressionsMax)
    errors.push_back(api::too_many(path.child("validations"), validations.size(), kPolicyExpressionsMax));
  for (std::size_t i = 0; i < policy.validations.size() && !errors.full(); ++i)
    check_validation(errors, policy.validations[i], validations[i], path.child("validations").index(i));
  check_annotations(errors, policy, annotations, path.child("auditAnnotations"));
}

// Nothing mutates a delete.
void check_operations(FieldErrors& errors, const Json& match, const FieldPath& path) {
  constexpr std::string_view kMutated[] = {"*", "CONNECT", "CREATE", "UPDATE"};
  for (const Json& rule : match.items_at("resourceRules"))
    for (const Json& operation : rule.items_at("operations"))
      if (std::none_of(std::begin(kMutated), std::end(kMutated),
                       [&](std::string_view known) { return operation == Json(known); }))
        errors.push_back(
            api::not_supported(path.child("resourceRules").child("operations"), operation, kMutated));
}

void check_mutation(FieldErrors& errors, const Mutation& mutation, const Json& given, const FieldPath& path) {
  const std::string_view type = given.string_at("patchType");
  if (type.empty()) return errors.push_back(api::required(path.child("patchType")));
  if (type != kApplyConfiguration && type != kJsonPatch)
    return check_choice(errors, given, "patchType", {kApplyConfiguration, kJsonPatch}, path);
  constexpr std::string_view kMembers[] = {"applyConfiguration", "jsonPatch"};
  const bool applies = type == kApplyConfiguration;
  const std::string member(kMembers[applies ? 0 : 1]), other(kMembers[applies ? 1 : 0]);
  const std::string when = " when patchType is " + std::string(type);
  const FieldPath expression = path.child(member).child("expression");
  if (!given.part(member).is_object())
    errors.push_back(api::required(path.child(member), "must be specified" + when));
  else if (is_blank(mutation.expression.text))
    errors.push_back(api::required(expression));
  else if (!mutation.expression.problem.empty())
    errors.push_back(
        api::invalid(expression, trimmed(mutation.expression.text), mutation.expression.problem));
  if (given.part(other).is_object())
    errors.push_back(api::invalid(path.child(other), "{" + other + "}", "must not be specified" + when));
}

void check_mutations(FieldErrors& errors, const Policy& policy, const Json& spec, const FieldPath& path) {
  const JsonArray& mutations = spec.items_at("mutations");
  const FieldPath list = path.child("mutations");
  if (mutations.empty()) errors.push_back(api::required(list, "mutations must contain at least one item"));
  if (mutations.size() > kPolicyExpressionsMax)
    errors.push_back(api::too_many(list, mutations.size(), kPolicyExpressionsMax));
  for (std::size_t i = 0; i < policy.mutations.size() && !errors.full(); ++i)
    check_mutation(errors, policy.mutations[i], mutations[i], list.index(i));
  if (spec.string_at("reinvocationPolicy").empty())
    errors.push_back(api::required(path.child("reinvocationPolicy")));
  else
    check_choice(errors, spec, "reinvocationPolicy", {"IfNeeded", "Never"}, path);
}

FieldErrors policy_problems(const Json& object, Phase phase, bool checks_conditions) {
  const PolicyPtr policy = read_policy(object, phase);
  const Json& spec = object.part("spec");
  const FieldPath path("spec");
  FieldErrors errors;
  check_choice(errors, spec, "failurePolicy", {"Fail", "Ignore"}, path);
  if (const Json* kind = spec.find("paramKind"); kind && kind->is_object())
    check_param_kind(errors, *kind, path.child("paramKind"));
  const Json& match = spec.part("matchConstraints");
  if (!match.is_object())
    errors.push_back(api::required(path.child("matchConstraints")));
  else
    check_match(errors, match, path.child("matchConstraints"));
  if (match.is_object() && match.items_at("resourceRules").empty())
    errors.push_back(api::required(path.child("matchConstraints").child("resourceRules")));
  if (phase == Phase::Mutating) check_operations(errors, match, path.child("matchConstraints"));
  if (checks_conditions)
    check_conditions(errors, spec.items_at("matchConditions"), policy->environments.front(),
                     path.child("matchConditions"));
  check_variables(errors, *policy, spec.items_at("variables"), path.child("variables"));
  if (phase == Phase::Validating)
    check_what_is_said(errors, *policy, spec, path);
  else
    check_mutations(errors, *policy, spec, path);
  return errors;
}

template <Phase phase>
FieldErrors validate_policy(const Json& policy, const api::RuleContext&) {
  return policy_problems(policy, phase, true);
}

template <Phase phase>
FieldErrors validate_policy_update(const Json& next, const Json& old, const api::RuleContext&) {
  const Json &spec = next.part("spec"), &before = old.part("spec");
  const bool is_same = spec.part("matchConditions") == before.part("matchConditions") &&
                       spec.part("paramKind") == before.part("paramKind");
  return policy_problems(next, phase, !is_same);
}

void check_params(FieldErrors& errors, const Json& params, const FieldPath& path) {
  if (!params.is_object()) return;
  const std::string_view name = params.string_at("name");
  const Json* selector = params.find("selector");
  const bool has_selector = selector && selector->is_object();
  constexpr std::string_view kExclusive = "name and selector are mutually exclusive";
  for (const std::string& problem :
       name.empty() ? std::vector<std::string>() : api::path_segment_problems(name))
    errors.push_back(api::invalid(path.child("name"), name, problem));
  if (!name.empty() && has_selector) {
    errors.push_back(api::forbidden(path.child("name"), kExclusive));
    errors.push_back(api::forbidden(path.child("selector"), kExclusive));
  }
  if (name.empty() && !has_selector)
    errors.push_back(api::required(path, "one of name or selector must be specified"));
  if (params.string_at("parameterNotFoundAction").empty())
    errors.push_back(api::required(path.child("parameterNotFoundAction")));
  else
    check_choice(errors, params, "parameterNotFoundAction", {"Deny", "Allow"}, path);
}

void check_actions(FieldErrors& errors, const JsonArray& actions, const FieldPath& path) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const std::string action = actions[i].is_string() ? actions[i].as_string() : "";
    if (action != "Audit" && action != "Deny" && action != "Warn")
      errors.push_back(api::not_supported(path.index(i), actions[i], {"Audit", "Deny", "Warn"}));
    if (!seen.insert(action).second) errors.push_back(api::duplicate(path.index(i), actions[i]));
  }
  if (seen.contains("Deny") && seen.contains("Warn"))
    errors.push_back(api::invalid(path, actions,
                                  "must not contain both Deny and Warn (repeating the same validation "
                                  "failure "
                                  "information in the API response and headers serves no purpose)"));
  if (actions.empty()) errors.push_back(api::required(path, "at least one validation action is required"));
}

template <Phase phase>
FieldErrors validate_binding(const Json& binding, const api::RuleContext&) {
  const Json& spec = binding.part("spec");
  const FieldPath path("spec");
  FieldErrors errors;
  const std::string_view policy = spec.string_at("policyName");
  if (policy.empty())
    errors.push_back(api::required(path.child("policyName")));
  else
    for (const std::string& problem : api::dns_subdomain_problems(policy))
      errors.push_back(api::invalid(path.child("policyName"), policy, problem));
  check_params(errors, spec.part("paramRef"), path.child("paramRef"));
  if (const Json* match = spec.find("matchResources"); match && match->is_object())
    check_match(errors, *match, path.child("matchResources"));
  if (phase == Phase::Validating)
    check_actions(errors, spec.items_at("validationActions"), path.child("validationActions"));
  else
    check_operations(errors, spec.part("matchResources"), path.child("matchResources"));
  return errors;
}

template <Phase phase>
FieldErrors validate_binding_update(const Json& next, const Json&, const api::RuleContext& ctx) {
  return validate_binding<phase>(next, ctx);
}

template <Phase phase>
api::KindRules made_rules(bool is_binding) {
  const std::string_view plural = plural_of({phase, is_binding});
  api::KindRules rules = api::rules_of(kRegistrationGroup, plural);
  rules.group = kRegistrationGroup;
  rules.resource = plural;
  rules.has_generation = true;
  rules.needs_version_on_update = true;
  rules.set_defaults = is_binding ? set_binding_defaults : set_policy_defaults<phase>;
  rules.validate_create = is_binding ? validate_binding<phase> : validate_policy<phase>;
  rules.validate_update = is_binding ? validate_binding_update<phase> : validate_policy_update<phase>;
  return rules;
}

template <Phase phase>
const api::KindRules& rules_of_phase(bool is_binding) {
  static const api::KindRules kPolicy = made_rules<phase>(false), kBinding = made_rules<phase>(true);
  return is_binding ? kBinding : kPolicy;
}

}  // namespace

std::string_view plural_of(PolicyKind kind) {
  if (kind.phase == Phase::Mutating)
    return kind.is_binding ? "mutatingadmissionpolicybindings" : "mutatingadmissionpolicies";
  return kind.is_binding ? "validatingadmissionpolicybindings" : "validatingadmissionpolicies";
}

std::optional<PolicyKind> policy_kind_of(const api::ResourceInfo& resource) {
  if (resource.group != kRegistrationGroup) return std::nullopt;
  for (const Phase phase : {Phase::Mutating, Phase::Validating})
    for (const bool is_binding : {false, true})
      if (resource.plural == plural_of({phase, is_binding})) return PolicyKind{phase, is_binding};
  return std::nullopt;
}

const api::KindRules& policy_rules(PolicyKind kind) {
  return kind.phase == Phase::Mutating ? rules_of_phase<Phase::Mutating>(kind.is_binding)
                                       : rules_of_phase<Phase::Validating>(kind.is_binding);
}

}  // namespace berth::admission
