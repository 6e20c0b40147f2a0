// Where a pod may run: affinity, spread constraints.
#include <set>
#include <utility>

#include "api/kinds/core_parts.h"
#include "api/kinds/resource_parts.h"

namespace berth::api {
namespace {

constexpr std::int64_t kWeightMax = 100;

FieldErrors check_topology_key(const FieldPath& path, const Json& term) {
  const FieldPath at = path.child("topologyKey");
  const std::string_view key = term.string_at("topologyKey");
  FieldErrors errors;
  if (key.empty()) errors.push_back(required(at, "can not be empty"));
  append(errors, check_format(at, key, qualified_name_problems));
  return errors;
}

FieldErrors check_weight(const FieldPath& path, const Json& term) {
  const std::int64_t weight = term.int_at("weight");
  if (weight >= 1 && weight <= kWeightMax) return {};
  return {invalid(path.child("weight"), weight, "must be in the range 1-100")};
}

FieldErrors check_pod_term(const FieldPath& path, const Json& term) {
  FieldErrors errors;
  for (std::string_view name : {"labelSelector", "namespaceSelector"})
    if (const Json* selector = present(term, name))
      append(errors, check_label_selector(path.child(name), *selector));
  const JsonArray& namespaces = items(&term, "namespaces");
  for (std::size_t i = 0; i < namespaces.size(); ++i)
    append(errors,
           check_format(path.child("namespaces").index(i), namespaces[i].as_string(), dns_label_problems));
  append(errors, check_topology_key(path, term));
  return errors;
}

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

FieldErrors check_node_affinity(const FieldPath& path, const Json& affinity) {
  FieldErrors errors;
  if (const Json* selector = present(affinity, kRequired))
    append(errors, check_node_selector(path.child(kRequired), *selector));
  const JsonArray& preferred = items(&affinity, kPreferred);
  for (std::size_t i = 0; i < preferred.size(); ++i) {
    const FieldPath at = path.child(kPreferred).index(i);
    append(errors, check_weight(at, preferred[i]));
    const Json* preference = present(preferred[i], "preference");
    if (!preference) continue;
    // A single term in place of a list of terms: its entries have the same rules.
    const Json selector = Json::object({{"nodeSelectorTerms", Json::array({*preference})}});
    FieldErrors found = check_node_selector(at, selector);
    const std::string listed = at.child("nodeSelectorTerms").index(0);
    for (FieldError& error : found)
      if (error.path.starts_with(listed))
        error.path = at.child("preference").text() + error.path.substr(listed.size());
    append(errors, std::move(found));
  }
  return errors;
}

FieldErrors check_pod_affinity(const FieldPath& path, const Json& affinity) {
  FieldErrors errors;
  const JsonArray& terms = items(&affinity, kRequired);
  for (std::size_t i = 0; i < terms.size(); ++i)
    append(errors, check_pod_term(path.child(kRequired).index(i), terms[i]));
  const JsonArray& preferred = items(&affinity, kPreferred);
  for (std::size_t i = 0; i < preferred.size(); ++i) {
    const FieldPath at = path.child(kPreferred).index(i);
    append(errors, check_weight(at, preferred[i]));
    if (const Json* term = present(preferred[i], "podAffinityTerm"))
      append(errors, check_pod_term(at.child("podAffinityTerm"), *term));
  }
  return errors;
}

FieldErrors check_constraint(const FieldPath& path, const Json& constraint) {
  FieldErrors errors;
  if (const std::int64_t skew = constraint.int_at("maxSkew"); skew <= 0)
    errors.push_back(invalid(path.child("maxSkew"), skew, "must be greater than zero"));
  // Of the form of the key nothing is said here, unlike in an affinity term.
  if (constraint.string_at("topologyKey").empty())
    errors.push_back(required(path.child("topologyKey"), "can not be empty"));
  append(errors, check_one_of(path.child("whenUnsatisfiable"), constraint.string_at("whenUnsatisfiable"),
                              {"DoNotSchedule", "ScheduleAnyway"}));
  if (const Json* domains = present(constraint, "minDomains")) {
    if (domains->as_int() <= 0)
      errors.push_back(invalid(path.child("minDomains"), *domains, "must be greater than zero"));
    if (constraint.string_at("whenUnsatisfiable") != "DoNotSchedule")
      errors.push_back(invalid(path.child("minDomains"), *domains,
                               "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not " +
                                   std::string(constraint.string_at("whenUnsatisfiable"))));
  }
  for (std::string_view name : {"nodeAffinityPolicy", "nodeTaintsPolicy"})
    if (const Json* policy = present(constraint, name))
      append(errors, check_one_of(path.child(name), policy->as_string(), {"Honor", "Ignore"}));
  if (const Json* selector = present(constraint, "labelSelector"))
    append(errors, check_label_selector(path.child("labelSelector"), *selector));
  return errors;
}

}  // namespace

FieldErrors check_affinity(const FieldPath& path, const Json& affinity) {
  FieldErrors errors;
  if (const Json* node = present(affinity, "nodeAffinity"))
    append(errors, check_node_affinity(path.child("nodeAffinity"), *node));
  for (std::string_view name : {"podAffinity", "podAntiAffinity"})
    if (const Json* pod = present(affinity, name)) append(errors, check_pod_affinity(path.child(name), *pod));
  return errors;
}

FieldErrors check_spread(const FieldPath& path, const JsonArray& constraints) {
  FieldErrors errors;
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (std::size_t i = 0; i < constraints.size() && !errors.full(); ++i) {
    const FieldPath at = path.index(i);
    append(errors, check_constraint(at, constraints[i]));
    const std::string_view key = constraints[i].string_at("topologyKey");
    const std::string_view when = constraints[i].string_at("whenUnsatisfiable");
    if (!seen.emplace(key, when).second)
      errors.push_back(duplicate(at.child("{topologyKey, whenUnsatisfiable}"),
                                 "{" + std::string(key) + ", " + std::string(when) + "}"));
  }
  return errors;
}

}  // namespace berth::api
