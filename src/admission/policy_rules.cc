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

void set_policy_defaults(Json& policy) {
  static const api::TypeInfo& type = type_of("ValidatingAdmissionPolicySpec");
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

FieldErrors policy_problems(const Json& object, bool checks_conditions) {
  const PolicyPtr policy = read_policy(object);
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
  if (checks_conditions)
    check_conditions(errors, spec.items_at("matchConditions"), policy->environments.front(),
                     path.child("matchConditions"));
  check_variables(errors, *policy, spec.items_at("variables"), path.child("variables"));
  check_what_is_said(errors, *policy, spec, path);
  return errors;
}

FieldErrors validate_policy(const Json& policy, const api::RuleContext&) {
  return policy_problems(policy, true);
}

FieldErrors validate_policy_update(const Json& next, const Json& old, const api::RuleContext&) {
  const Json &spec = next.part("spec"), &before = old.part("spec");
  const bool is_same = spec.part("matchConditions") == before.part("matchConditions") &&
                       spec.part("paramKind") == before.part("paramKind");
  return policy_problems(next, !is_same);
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
  check_actions(errors, spec.items_at("validationActions"), path.child("validationActions"));
  return errors;
}

FieldErrors validate_binding_update(const Json& next, const Json&, const api::RuleContext& ctx) {
  return validate_binding(next, ctx);
}

api::KindRules made_rules(PolicyKind kind) {
  const bool is_policy = kind == PolicyKind::Policy;
  api::KindRules rules = api::rules_of(kRegistrationGroup, is_policy ? kPolicies : kPolicyBindings);
  rules.group = kRegistrationGroup;
  rules.resource = is_policy ? kPolicies : kPolicyBindings;
  rules.has_generation = true;
  rules.needs_version_on_update = true;
  rules.set_defaults = is_policy ? set_policy_defaults : set_binding_defaults;
  rules.validate_create = is_policy ? validate_policy : validate_binding;
  rules.validate_update = is_policy ? validate_policy_update : validate_binding_update;
  return rules;
}

}  // namespace

PolicyKind policy_kind_of(const api::ResourceInfo& resource) {
  if (resource.group != kRegistrationGroup) return PolicyKind::None;
  if (resource.plural == kPolicies) return PolicyKind::Policy;
  return resource.plural == kPolicyBindings ? PolicyKind::Binding : PolicyKind::None;
}

const api::KindRules& policy_rules(PolicyKind kind) {
  static const api::KindRules kPolicy = made_rules(PolicyKind::Policy),
                              kBinding = made_rules(PolicyKind::Binding);
  return kind == PolicyKind::Policy ? kPolicy : kBinding;
}

}  // namespace berth::admission
