#include "api/kinds/core_parts.h"
#include "api/kinds/workload_kinds.h"

namespace berth::api {
namespace {

FieldErrors validate_lease(const Json& lease, const RuleContext&) {
  const Json* spec = present(lease, "spec");
  if (!spec) return {};
  const FieldPath path("spec");
  FieldErrors errors;
  // An empty holderIdentity is good: clients release a lease that way.
  if (const Json* seconds = present(spec, "leaseDurationSeconds"); seconds && seconds->as_int() <= 0)
    errors.push_back(invalid(path.child("leaseDurationSeconds"), *seconds, "must be greater than 0"));
  append(errors, check_not_negative(path.child("leaseTransitions"), *spec, "leaseTransitions"));
  return errors;
}

// Fields of CoordinatedLeaderElection, which is off.
void drop_election_fields(Json& lease) {
  Json* spec = present(lease, "spec");
  if (!spec) return;
  for (std::string_view key : {"strategy", "preferredHolder"}) spec->as_object().erase(key);
}

KindRules lease_rules() {
  KindRules rules;
  rules.group = "coordination.k8s.io";
  rules.resource = "leases";
  rules.needs_version_on_update = true;
  rules.plain_finalizers = true;
  rules.create_on_update = true;
  rules.prepare_create = [](Json& lease, const RuleContext&) { drop_election_fields(lease); };
  rules.prepare_update = [](Json& next, const Json&, const RuleContext&) { drop_election_fields(next); };
  rules.validate_create = validate_lease;
  return rules;
}

FieldErrors validate_budget(const Json& budget, const RuleContext&) {
  const Json* spec = present(budget, "spec");
  if (!spec) return {};
  const FieldPath path("spec");
  FieldErrors errors;
  if (present(spec, "minAvailable") && present(spec, "maxUnavailable"))
    errors.push_back(invalid(path, go_form(*spec, table_type("policy", "v1", "PodDisruptionBudgetSpec")),
                             "minAvailable and maxUnavailable cannot be both set"));
  for (std::string_view key : {"minAvailable", "maxUnavailable"})
    if (const Json* amount = present(spec, key))
      append(errors, check_amount_or_percent(path.child(key), *amount));
  if (const Json* selector = present(spec, "selector"))
    append(errors, check_label_selector(path.child("selector"), *selector));
  if (const Json* policy = present(spec, "unhealthyPodEvictionPolicy"))
    append(errors, check_one_of(path.child("unhealthyPodEvictionPolicy"), policy->as_string(),
                                {"AlwaysAllow", "IfHealthyBudget"}));
  return errors;
}

KindRules budget_rules() {
  KindRules rules;
  rules.group = "policy";
  rules.resource = "poddisruptionbudgets";
  rules.name_rule = NameRule::PathSegment;
  rules.has_generation = true;
  rules.needs_version_on_update = true;
  rules.plain_finalizers = true;
  rules.prepare_create = [](Json& budget, const RuleContext&) {
    const TypeInfo& status = table_type("policy", "v1", "PodDisruptionBudgetStatus");
    Json empty = Json::object();
    for (std::string_view key : {"disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"})
      put(empty, status, key, 0);
    put(budget, table_type("policy", "v1", "PodDisruptionBudget"), "status", std::move(empty));
  };
  rules.validate_create = validate_budget;
  return rules;
}

}  // namespace

std::span<const KindRules> workload_rules() {
  static const std::vector<KindRules> kRules = [] {
    std::vector<KindRules> rules = apps_rules();
    rules.push_back(job_rules());
    rules.push_back(lease_rules());
    rules.push_back(budget_rules());
    return rules;
  }();
  return kRules;
}

}  // namespace berth::api
