#include "api/kinds/scheduling_kinds.h"
#include "api/kinds/scheduling_parts.h"

namespace berth::api {
namespace {

constexpr std::size_t kClaimStatusesMax = 4;
// Pods of a group need it to find each other: it stays until its last pod is gone.
constexpr std::string_view kProtection = "scheduling.k8s.io/podgroup-protection";

const TypeInfo& group_type(std::string_view name) {
  return table_type("scheduling.k8s.io", "v1beta1", name);
}
const TypeInfo& composite_type(std::string_view name) {
  return table_type("scheduling.k8s.io", "v1alpha3", name);
}

const Json& spec_of(const Json& group) {
  static const Json kNone = Json::object();
  const Json* spec = present(group, "spec");
  return spec ? *spec : kNone;
}

void set_defaults(Json& group, const TypeInfo& spec_type) {
  Json* spec = present(group, "spec");
  if (!spec) return;
  if (!present(*spec, "disruptionMode"))
    put(*spec, spec_type, "disruptionMode", Json::object({{"single", Json::object()}}));
  if (!present(*spec, "preemptionPolicy")) put(*spec, spec_type, "preemptionPolicy", "PreemptLowerPriority");
}

// topologyConstraints[].level, KEP-5732's form, is stored as topology[].key as well: what reads the shipped
// form alone sees the constraint. Validation refuses what is left.
void convert_level(Json& group) {
  Json* spec = present(group, "spec");
  Json* constraints = spec ? present(*spec, "schedulingConstraints") : nullptr;
  const JsonArray& levels = items(constraints, "topologyConstraints");
  if (levels.size() != 1 || !items(constraints, "topology").empty()) return;
  const std::string level(text_at(levels[0], "level"));
  if (level.empty() || !qualified_name_problems(level).empty()) return;
  put(*constraints, group_type("PodGroupSchedulingConstraints"), "topology",
      Json::array({Json::object({{"key", level}})}));
}

FieldErrors check_parent(const FieldPath& path, const Json& spec) {
  const Json* parent = present(spec, "parentCompositePodGroupName");
  if (!parent) return {};
  return check_format(path.child("parentCompositePodGroupName"), parent->as_string(), dns_subdomain_problems);
}

FieldErrors validate(const Json& group, GangOf gang) {
  const FieldPath path("spec");
  const Json& spec = spec_of(group);
  const Json* ref = present(spec, "workloadRef");
  FieldErrors errors;
  if (!ref && gang == GangOf::Pods && present(spec, "parentCompositePodGroupName"))
    errors.push_back(
        required(path.child("workloadRef"), "must be set when parentCompositePodGroupName is set"));
  append(errors, check_parent(path, spec));
  if (!ref && gang == GangOf::Groups) errors.push_back(required(path.child("workloadRef")));
  if (ref) append(errors, check_workload_ref(path.child("workloadRef"), *ref));
  append(errors, check_policy(path, spec, gang));
  append(errors, check_group_fields(path, spec));
  return errors;
}

FieldErrors validate_update(const Json& next, const Json& old, GangOf gang) {
  const FieldPath path("spec");
  const Json& spec = spec_of(next);
  const Json& old_spec = spec_of(old);
  FieldErrors errors = check_unchanged(path, spec, old_spec, {"parentCompositePodGroupName", "workloadRef"});
  append(errors, check_policy_update(path, spec, old_spec, gang));
  append(errors, check_unchanged(path, spec, old_spec,
                                 {"schedulingConstraints", "resourceClaims", "disruptionMode",
                                  "priorityClassName", "priority", "preemptionPolicy"}));
  return errors;
}

FieldErrors check_claim_statuses(const FieldPath& path, const JsonArray& statuses, const JsonArray& claims) {
  FieldErrors errors = check_count(path, statuses.size(), kClaimStatusesMax);
  if (!errors.empty()) return errors;
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const FieldPath at = path.index(i);
    const std::string_view name = text_at(statuses[i], "name");
    if (!item_named(claims, "name", name))
      errors.push_back(
          invalid(at.child("name"), name, "must match the name of an entry in `spec.resourceClaims`"));
    if (item_named(statuses, "name", name) != &statuses[i]) errors.push_back(duplicate(at, statuses[i]));
    if (const Json* claim = present(statuses[i], "resourceClaimName"))
      append(errors, check_format(at.child("resourceClaimName"), claim->as_string(), dns_subdomain_problems));
  }
  return errors;
}

FieldErrors validate_status(const Json& next, const Json&, const RuleContext&) {
  const FieldPath path("status");
  const Json* status = present(next, "status");
  FieldErrors errors =
      check_conditions(path.child("conditions"), items(status, "conditions"), kGroupConditionsMax);
  append(errors,
         check_claim_statuses(path.child("resourceClaimStatuses"), items(status, "resourceClaimStatuses"),
                              items(present(next, "spec"), "resourceClaims")));
  return errors;
}

void prepare_status(Json& next, const Json& old, const RuleContext& ctx, const TypeInfo& type) {
  Json kept = old;
  const Json* status = present(next, "status");
  put(kept, type, "status", status ? *status : Json::object());
  drop_gated_fields(type, kept, &old, ctx.gates);
  next = std::move(kept);
}

std::optional<Rejection> admit(Json& group, const TypeInfo& spec_type, std::string_view what,
                               const RuleContext& ctx) {
  Json* spec = present(group, "spec");
  if (!spec) return std::nullopt;
  return resolve_priority(*spec, spec_type, what, ctx);
}

KindRules shared_rules() {
  KindRules rules;
  rules.group = "scheduling.k8s.io";
  rules.needs_version_on_update = true;
  rules.validate_status_update = validate_status;
  return rules;
}

}  // namespace

KindRules pod_group_rules() {
  KindRules rules = shared_rules();
  rules.resource = "podgroups";
  rules.set_defaults = [](Json& group) { set_defaults(group, group_type("PodGroupSpec")); };
  rules.prepare_create = [](Json& group, const RuleContext& ctx) {
    group["status"] = Json::object();
    drop_gated_fields(group_type("PodGroup"), group, nullptr, ctx.gates);
    convert_level(group);
  };
  rules.prepare_update = [](Json& next, const Json& old, const RuleContext& ctx) {
    drop_gated_fields(group_type("PodGroup"), next, &old, ctx.gates);
    convert_level(next);
  };
  rules.prepare_status_update = [](Json& next, const Json& old, const RuleContext& ctx) {
    prepare_status(next, old, ctx, group_type("PodGroup"));
  };
  rules.validate_create = [](const Json& group, const RuleContext&) { return validate(group, GangOf::Pods); };
  rules.validate_update = [](const Json& next, const Json& old, const RuleContext&) {
    return validate_update(next, old, GangOf::Pods);
  };
  rules.admit_create = [](Json& group, const RuleContext& ctx) {
    add_finalizer(group, kProtection);
    return admit(group, group_type("PodGroupSpec"), "pod group", ctx);
  };
  return rules;
}

KindRules composite_pod_group_rules() {
  KindRules rules = shared_rules();
  rules.resource = "compositepodgroups";
  rules.set_defaults = [](Json& group) { set_defaults(group, composite_type("CompositePodGroupSpec")); };
  rules.prepare_create = [](Json& group, const RuleContext& ctx) {
    group["status"] = Json::object();
    drop_gated_fields(composite_type("CompositePodGroup"), group, nullptr, ctx.gates);
  };
  rules.prepare_update = [](Json& next, const Json& old, const RuleContext& ctx) {
    drop_gated_fields(composite_type("CompositePodGroup"), next, &old, ctx.gates);
  };
  rules.prepare_status_update = [](Json& next, const Json& old, const RuleContext& ctx) {
    prepare_status(next, old, ctx, composite_type("CompositePodGroup"));
  };
  rules.validate_create = [](const Json& group, const RuleContext&) {
    return validate(group, GangOf::Groups);
  };
  rules.validate_update = [](const Json& next, const Json& old, const RuleContext&) {
    return validate_update(next, old, GangOf::Groups);
  };
  rules.admit_create = [](Json& group, const RuleContext& ctx) {
    return admit(group, composite_type("CompositePodGroupSpec"), "composite pod group", ctx);
  };
  return rules;
}

}  // namespace berth::api
