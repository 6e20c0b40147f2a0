#include "api/kinds/resource_parts.h"

#include <algorithm>

#include "base/time.h"

namespace berth::api {
namespace {

constexpr std::string_view kParametersOmitted = "<value omitted>";

FieldErrors check_enum(const std::string& path, std::string_view value,
                       std::initializer_list<std::string_view> supported) {
  if (std::find(supported.begin(), supported.end(), value) != supported.end()) return {};
  return {not_supported(path, value, supported)};
}

FieldErrors check_effect(const std::string& path, std::string_view effect) {
  return check_enum(path, effect, {"NoExecute", "NoSchedule", "None"});
}

FieldErrors check_toleration(const FieldPath& path, const Json& toleration, FieldErrors& declared) {
  FieldErrors errors;
  const std::string_view key = text_at(toleration, "key");
  const std::string_view value = text_at(toleration, "value");
  const std::string_view the_operator = text_at(toleration, "operator");
  if (!key.empty()) append(errors, check_format(path.child("key"), key, qualified_name_problems));
  if (the_operator == "Exists" && !value.empty())
    errors.push_back(invalid(path.child("value"), value, "must be empty for operator `Exists`"));
  if (the_operator == "Equal") append(errors, check_format(path.child("value"), value, label_value_problems));
  if (the_operator.empty())
    errors.push_back(required(path.child("operator")));
  else
    append(declared, check_enum(path.child("operator"), the_operator, {"Equal", "Exists"}));
  if (const std::string_view effect = text_at(toleration, "effect"); !effect.empty())
    append(declared, check_effect(path.child("effect"), effect));
  return errors;
}

// One of the two lists of binding conditions.
FieldErrors check_condition_names(const FieldPath& path, const JsonArray& names) {
  FieldErrors errors;
  ItemSet seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    append(errors, check_format(path.index(i), names[i].as_string(), qualified_name_problems));
    if (!seen.add(names[i])) errors.push_back(duplicate(path.index(i), names[i]));
  }
  append(errors, check_count(path, names.size(), kBindingConditionsMax));
  return errors;
}

FieldErrors check_field_requirement(const FieldPath& path, const Json& requirement) {
  FieldErrors errors;
  const std::string_view the_operator = text_at(requirement, "operator");
  const JsonArray& values = items(&requirement, "values");
  if (the_operator != "In" && the_operator != "NotIn")
    errors.push_back(invalid(path.child("operator"), the_operator, "not a valid selector operator"));
  else if (values.size() != 1)
    errors.push_back(
        required(path.child("values"),
                 "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"));
  if (text_at(requirement, "key") != "metadata.name") {
    errors.push_back(
        invalid(path.child("key"), text_at(requirement, "key"), "not a valid field selector key"));
    return errors;
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    append(errors,
           check_format(path.child("values").index(i), values[i].as_string(), dns_subdomain_problems));
  return errors;
}

FieldErrors check_label_requirement(const FieldPath& path, const Json& requirement) {
  FieldErrors errors;
  const std::string_view the_operator = text_at(requirement, "operator");
  const JsonArray& values = items(&requirement, "values");
  if (the_operator == "In" || the_operator == "NotIn") {
    if (values.empty())
      errors.push_back(
          required(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if (the_operator == "Exists" || the_operator == "DoesNotExist") {
    if (!values.empty())
      errors.push_back(forbidden(path.child("values"),
                                 "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
  } else if (the_operator == "Gt" || the_operator == "Lt") {
    if (values.size() != 1)
      errors.push_back(
          required(path.child("values"), "must be specified single value when `operator` is 'Lt' or 'Gt'"));
  } else {
    errors.push_back(invalid(path.child("operator"), the_operator, "not a valid selector operator"));
  }
  append(errors, check_format(path.child("key"), text_at(requirement, "key"), qualified_name_problems));
  return errors;
}

FieldErrors check_condition(const FieldPath& path, const Json& condition) {
  FieldErrors errors =
      check_required(path.child("type"), text_at(condition, "type"), qualified_name_problems);
  const std::string_view status = text_at(condition, "status");
  if (status.empty())
    errors.push_back(required(path.child("status")));
  else
    append(errors, check_enum(path.child("status"), status, {"False", "True", "Unknown"}));
  if (condition.int_at("observedGeneration") < 0)
    errors.push_back(invalid(path.child("observedGeneration"), condition.int_at("observedGeneration"),
                             "must be greater than or equal to zero"));
  if (text_at(condition, "lastTransitionTime").empty())
    errors.push_back(required(path.child("lastTransitionTime")));
  const std::string_view reason = text_at(condition, "reason");
  if (reason.empty()) errors.push_back(required(path.child("reason")));
  if (reason.size() > kConditionReasonBytesMax)
    errors.push_back(too_long(path.child("reason"), kConditionReasonBytesMax));
  if (text_at(condition, "message").size() > kConditionMessageBytesMax)
    errors.push_back(too_long(path.child("message"), kConditionMessageBytesMax));
  return errors;
}

}  // namespace

FieldErrors Findings::all() && {
  append(by_hand, std::move(declared));
  return std::move(by_hand);
}

const TypeInfo& resource_type(std::string_view name) {
  return table_type("resource.k8s.io", "v1", name);
}

std::string_view text_at(const Json& object, std::string_view key) {
  return object.string_at(key);
}

FieldErrors check_driver(const std::string& path, std::string_view driver) {
  if (driver.empty()) return {required(path)};
  FieldErrors errors;
  if (driver.size() > kDriverBytesMax) errors.push_back(too_long(path, kDriverBytesMax));
  std::string lower(driver);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const std::string& complaint : dns_subdomain_problems(lower))
    errors.push_back(invalid(path, driver, complaint));
  return errors;
}

FieldErrors check_declared_driver(const std::string& path, std::string_view driver) {
  if (driver.size() > kDriverBytesMax) return {too_long(path, kDriverBytesMax)};
  return check_required(path, driver, caseless_subdomain);
}

FieldErrors check_pool_name(const std::string& path, std::string_view pool) {
  if (pool.empty()) return {required(path)};
  FieldErrors errors;
  if (pool.size() > kDnsSubdomainBytesMax) errors.push_back(too_long(path, kDnsSubdomainBytesMax));
  while (true) {
    const std::size_t slash = pool.find('/');
    append(errors, check_format(path, pool.substr(0, slash), dns_subdomain_problems));
    if (slash == std::string_view::npos) return errors;
    pool.remove_prefix(slash + 1);
  }
}

FieldErrors check_qualified_name(const std::string& path, std::string_view name) {
  if (name.empty()) return {required(path, "name required")};
  FieldErrors errors;
  std::string_view id = name;
  if (const std::size_t slash = name.find('/'); slash != std::string_view::npos) {
    const std::string_view domain = name.substr(0, slash);
    id = name.substr(slash + 1);
    // More than one slash is not validated here.
    if (id.find('/') != std::string_view::npos) return {};
    append(errors, domain.empty() ? FieldErrors{invalid(path, "", "the domain must not be empty")}
                                  : check_driver(path, domain));
    if (id.empty()) errors.push_back(invalid(path, "", "the name must not be empty"));
    if (id.empty()) return errors;
  }
  if (id.size() > kQualifiedIdBytesMax) errors.push_back(too_long(path, kQualifiedIdBytesMax));
  append(errors, check_format(path, id, c_identifier));
  return errors;
}

FieldErrors check_full_name(const std::string& path, std::string_view name) {
  if (name.empty()) return {required(path, "name required")};
  FieldErrors errors = check_qualified_name(path, name);
  if (name.find('/') == std::string_view::npos)
    errors.push_back(
        invalid(path, name, "a fully qualified name must be a domain and a name separated by a slash"));
  return errors;
}

FieldErrors check_count(const std::string& path, std::size_t count, std::size_t count_max) {
  return count > count_max ? FieldErrors{too_many(path, count, count_max)} : FieldErrors{};
}

FieldErrors check_union(const std::string& path, const Json& object,
                        std::initializer_list<std::string_view> names) {
  std::string set;
  std::string quoted;
  int count = 0;
  for (std::string_view name : names) {
    quoted.append(quoted.empty() ? "`" : ", `").append(name).append("`");
    const Json* member = present(object, name);
    if (!member || (member->is_array() && member->as_array().empty())) continue;
    ++count;
    set.append(set.empty() ? "" : ", ").append(name);
  }
  if (count == 1) return {};
  if (count == 0) return {invalid(path, "", "must specify one of: " + quoted)};
  return {invalid(path, "{" + set + "}", "must specify exactly one of: " + quoted)};
}

void check_taint(const FieldPath& path, const Json& taint, const Json* old, Findings& findings) {
  append(findings.by_hand, check_format(path.child("key"), text_at(taint, "key"), qualified_name_problems));
  if (const std::string_view value = text_at(taint, "value"); !value.empty())
    append(findings.by_hand, check_format(path.child("value"), value, label_value_problems));
  const std::string_view effect = text_at(taint, "effect");
  if (effect.empty())
    findings.declared.push_back(required(path.child("effect")));
  else if (!old || text_at(*old, "effect") != effect)
    append(findings.declared, check_effect(path.child("effect"), effect));
}

void check_tolerations(const FieldPath& path, const Json& owner, Findings& findings) {
  const JsonArray& tolerations = items(&owner, "tolerations");
  for (std::size_t i = 0; i < tolerations.size(); ++i)
    append(findings.by_hand,
           check_toleration(path.child("tolerations").index(i), tolerations[i], findings.declared));
}

FieldErrors check_binding_conditions(const FieldPath& path, const Json& owner) {
  const JsonArray& wanted = items(&owner, "bindingConditions");
  const JsonArray& failed = items(&owner, "bindingFailureConditions");
  const FieldPath wanted_path = path.child("bindingConditions");
  const FieldPath failed_path = path.child("bindingFailureConditions");
  FieldErrors errors = check_condition_names(wanted_path, wanted);
  append(errors, check_condition_names(failed_path, failed));
  const ItemSet known(wanted);
  for (std::size_t i = 0; i < failed.size(); ++i)
    if (known.has(failed[i]))
      errors.push_back(invalid(failed_path.index(i), failed[i],
                               "bindingFailureConditions must not overlap with bindingConditions"));
  if (wanted.empty() && !failed.empty())
    errors.push_back(
        invalid(wanted_path, nullptr, "bindingConditions are required to use bindingFailureConditions"));
  if (!wanted.empty() && failed.empty())
    errors.push_back(
        invalid(failed_path, nullptr, "bindingFailureConditions are required to use bindingConditions"));
  return errors;
}

void check_opaque(const FieldPath& path, const Json& entry, Findings& findings) {
  const FieldPath opaque_path = path.child("opaque");
  const Json* opaque = present(entry, "opaque");
  if (!opaque) {
    findings.by_hand.push_back(required(opaque_path));
    return;
  }
  append(findings.declared, check_declared_driver(opaque_path.child("driver"), text_at(*opaque, "driver")));
  append(findings.by_hand, check_parameters(opaque_path.child("parameters"), present(*opaque, "parameters")));
}

FieldErrors check_parameters(const std::string& path, const Json* value) {
  if (!value) return {required(path)};
  if (to_string(*value).size() > kOpaqueBytesMax) return {too_long(path, kOpaqueBytesMax)};
  if (!value->is_object()) return {invalid(path, kParametersOmitted, "must be a valid JSON object")};
  return {};
}

void check_selectors(const FieldPath& path, const Json& owner, const Json* old, const RuleContext& ctx,
                     Findings& findings) {
  const JsonArray& selectors = items(&owner, "selectors");
  const FieldPath list = path.child("selectors");
  // Any change, even of the order, makes all of them new.
  const bool stored = old && selectors == items(old, "selectors");
  append(findings.declared, check_count(list, selectors.size(), kSelectorsMax));
  if (selectors.size() > kSelectorsMax) return;
  for (std::size_t i = 0; i < selectors.size(); ++i) {
    const FieldPath cel_path = list.index(i).child("cel");
    const Json* cel = present(selectors[i], "cel");
    if (!cel) {
      findings.by_hand.push_back(required(cel_path));
      continue;
    }
    if (stored) continue;
    const FieldPath expression_path = cel_path.child("expression");
    const std::string_view expression = text_at(*cel, "expression");
    if (expression.size() > kExpressionBytesMax) {
      findings.by_hand.push_back(too_long(expression_path, kExpressionBytesMax));
      continue;
    }
    const CelVerdict verdict = ctx.check_cel(expression, CelUse::Selector, ctx.gates);
    if (!verdict.complaint.empty())
      findings.by_hand.push_back(invalid(expression_path, expression, verdict.complaint));
    else if (verdict.too_complex)
      findings.by_hand.push_back(forbidden(expression_path, "too complex, exceeds cost limit"));
  }
}

FieldErrors check_skipped_operations(const FieldPath& path, const JsonArray& operations) {
  constexpr std::string_view kAll = "*";
  constexpr std::string_view kPrepare = "NodePrepareResources";
  constexpr std::string_view kUnprepare = "NodeUnprepareResources";
  FieldErrors errors;
  ItemSet seen;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const std::string_view name = operations[i].as_string();
    if (name != kAll && name != kPrepare && name != kUnprepare)
      errors.push_back(not_supported(path.index(i), name, {kAll, kPrepare, kUnprepare}));
    if (!seen.add(operations[i])) errors.push_back(duplicate(path.index(i), name));
  }
  if (seen.has(kPrepare) && !seen.has(kUnprepare) && !seen.has(kAll))
    errors.push_back(
        invalid(path, operations,
                "NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped"));
  return errors;
}

FieldErrors check_node_selector(const FieldPath& path, const Json& selector) {
  const FieldPath list = path.child("nodeSelectorTerms");
  const JsonArray& terms = items(&selector, "nodeSelectorTerms");
  if (terms.empty()) return {required(list, "must have at least one node selector term")};
  FieldErrors errors;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const JsonArray& labels = items(&terms[i], "matchExpressions");
    for (std::size_t j = 0; j < labels.size(); ++j)
      append(errors, check_label_requirement(list.index(i).child("matchExpressions").index(j), labels[j]));
    const JsonArray& fields = items(&terms[i], "matchFields");
    for (std::size_t j = 0; j < fields.size(); ++j)
      append(errors, check_field_requirement(list.index(i).child("matchFields").index(j), fields[j]));
  }
  return errors;
}

FieldErrors check_conditions(const FieldPath& path, const JsonArray& conditions, std::size_t count_max) {
  if (conditions.size() > count_max) return check_count(path, conditions.size(), count_max);
  FieldErrors errors;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    append(errors, check_condition(path.index(i), conditions[i]));
    if (item_named(conditions, "type", text_at(conditions[i], "type")) != &conditions[i])
      errors.push_back(duplicate(path.index(i), text_at(conditions[i], "type")));
  }
  return errors;
}

}  // namespace berth::api
