#include "api/kinds/scheduling_parts.h"

#include <algorithm>

namespace berth::api {
namespace {

constexpr std::size_t kTopologyKeysMax = 1;
constexpr std::size_t kGroupClaimsMax = 4;
constexpr std::string_view kImmutable = "field is immutable";

std::string_view counter_of(GangOf gang) {
  return gang == GangOf::Pods ? "minCount" : "minGroupCount";
}

FieldErrors check_gang(const FieldPath& path, const Json& gang, GangOf of) {
  const FieldPath at = path.child(counter_of(of));
  const std::int64_t count = gang.int_at(counter_of(of));
  if (count == 0) return {required(at)};
  if (count < 1) return {invalid(at, count, "must be greater than or equal to 1")};
  return {};
}

FieldErrors check_label_keys(const FieldPath& list, const JsonArray& constraints, std::string_view member) {
  FieldErrors errors = check_count(list, constraints.size(), kTopologyKeysMax);
  if (!errors.empty()) return errors;
  for (std::size_t i = 0; i < constraints.size(); ++i)
    append(errors, check_required(list.index(i).child(member), text_at(constraints[i], member),
                                  qualified_name_problems));
  return errors;
}

// The shipped form and that of KEP-5732.
FieldErrors check_topology(const FieldPath& path, const Json& constraints) {
  const JsonArray& topology = items(&constraints, "topology");
  const JsonArray& levels = items(&constraints, "topologyConstraints");
  const FieldPath at = path.child("topologyConstraints");
  FieldErrors errors = check_label_keys(path.child("topology"), topology, "key");
  append(errors, check_label_keys(at, levels, "level"));
  if (errors.empty() && !topology.empty() && !levels.empty() &&
      text_at(topology[0], "key") != text_at(levels[0], "level"))
    errors.push_back(
        invalid(at.index(0).child("level"), levels[0].string_at("level"),
                "must be topology[0].key, or leave one of them out: a group has one topology constraint"));
  return errors;
}

FieldErrors check_group_claims(const FieldPath& path, const JsonArray& claims) {
  FieldErrors errors = check_count(path, claims.size(), kGroupClaimsMax);
  if (!errors.empty()) return errors;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const FieldPath at = path.index(i);
    const Json& claim = claims[i];
    if (item_named(claims, "name", text_at(claim, "name")) != &claim) errors.push_back(duplicate(at, claim));
    append(errors, check_required(at.child("name"), text_at(claim, "name"), dns_label_problems));
    append(errors, check_union(at, claim, {"resourceClaimName", "resourceClaimTemplateName"}));
    for (std::string_view name : {"resourceClaimName", "resourceClaimTemplateName"})
      if (const Json* reference = present(claim, name))
        append(errors, check_format(at.child(name), reference->as_string(), dns_subdomain_problems));
  }
  return errors;
}

// The class named in `spec`, or the default one; null without either.
std::optional<Json> class_of(Json& spec, const TypeInfo& type, const RuleContext& ctx) {
  constexpr std::string_view kResource = "priorityclasses.scheduling.k8s.io";
  if (const std::string_view name = text_at(spec, "priorityClassName"); !name.empty())
    return ctx.read(kResource, "", name);
  std::optional<Json> found;
  for (Json& candidate : ctx.list(kResource, kIsGlobalDefault)) {
    // Of several defaults the lowest value wins.
    const bool lower = !found || candidate.int_at("value") < found->int_at("value");
    if (candidate.bool_at("globalDefault") && lower) found = std::move(candidate);
  }
  if (found) put(spec, type, "priorityClassName", *found->find_path({"metadata", "name"}));
  return found;
}

}  // namespace

FieldErrors check_policy(const FieldPath& path, const Json& owner, GangOf gang) {
  static const Json kNone = Json::object();
  const FieldPath at = path.child("schedulingPolicy");
  const Json* found = present(owner, "schedulingPolicy");
  const Json& policy = found ? *found : kNone;
  FieldErrors errors = check_union(at, policy, {"basic", "gang"});
  if (const Json* value = present(policy, "gang"); value && errors.empty())
    append(errors, check_gang(at.child("gang"), *value, gang));
  return errors;
}

FieldErrors check_policy_update(const FieldPath& path, const Json& owner, const Json& old, GangOf gang) {
  const FieldPath at = path.child("schedulingPolicy");
  const Json* policy = present(owner, "schedulingPolicy");
  const Json* before = present(old, "schedulingPolicy");
  if (same(policy, before)) return {};
  if (gang == GangOf::Groups) return {invalid(at, nullptr, kImmutable)};
  const Json* wanted = present(policy, "gang");
  const Json* stored = present(before, "gang");
  FieldErrors errors;
  if (!same(present(policy, "basic"), present(before, "basic")))
    errors.push_back(invalid(at.child("basic"), nullptr, kImmutable));
  if (stored && !wanted)
    errors.push_back(invalid(at.child("gang"), nullptr, "field cannot be cleared once set"));
  if (wanted && !stored)
    errors.push_back(invalid(at.child("gang"), nullptr, "field cannot be set once created"));
  return errors.empty() ? check_policy(path, owner, gang) : errors;
}

FieldErrors check_unchanged(const FieldPath& path, const Json& next, const Json& old,
                            std::initializer_list<std::string_view> names) {
  FieldErrors errors;
  for (std::string_view name : names)
    if (!same(present(next, name), present(old, name)))
      errors.push_back(invalid(path.child(name), nullptr, kImmutable));
  return errors;
}

FieldErrors check_group_fields(const FieldPath& path, const Json& owner) {
  FieldErrors errors;
  if (const Json* constraints = present(owner, "schedulingConstraints"))
    append(errors, check_topology(path.child("schedulingConstraints"), *constraints));
  append(errors, check_group_claims(path.child("resourceClaims"), items(&owner, "resourceClaims")));
  if (const Json* mode = present(owner, "disruptionMode"))
    append(errors, check_union(path.child("disruptionMode"), *mode, {"single", "all"}));
  if (const std::string_view name = text_at(owner, "priorityClassName"); !name.empty())
    append(errors, check_format(path.child("priorityClassName"), name, dns_subdomain_problems));
  if (const std::int64_t priority = owner.int_at("priority"); priority > kUserPriorityMax)
    errors.push_back(invalid(path.child("priority"), priority, "must be less than or equal to 1000000000"));
  const std::string_view policy = text_at(owner, "preemptionPolicy");
  if (!policy.empty() && policy != "Never" && policy != "PreemptLowerPriority")
    errors.push_back(
        not_supported(path.child("preemptionPolicy"), policy, {"Never", "PreemptLowerPriority"}));
  return errors;
}

FieldErrors check_workload_ref(const FieldPath& path, const Json& ref) {
  FieldErrors errors =
      check_required(path.child("workloadName"), text_at(ref, "workloadName"), dns_subdomain_problems);
  append(errors,
         check_required(path.child("templateName"), text_at(ref, "templateName"), dns_label_problems));
  return errors;
}

std::optional<Rejection> resolve_priority(Json& spec, const TypeInfo& type, std::string_view what,
                                          const RuleContext& ctx) {
  const auto refuse = [](std::string message) { return Rejection{403, "Forbidden", std::move(message)}; };
  const std::optional<Json> found = class_of(spec, type, ctx);
  if (const std::string_view name = text_at(spec, "priorityClassName"); !name.empty() && !found)
    return refuse("no PriorityClass with name " + std::string(name) + " was found");
  const std::int64_t priority = found ? found->int_at("value") : 0;
  if (const Json* wanted = present(spec, "priority"); wanted && wanted->as_int() != priority)
    return refuse("priority set in the " + std::string(what) + " (" + std::to_string(wanted->as_int()) +
                  ") must match the priority computed (" + std::to_string(priority) +
                  ") based on the priority class set in the spec");
  put(spec, type, "priority", priority);
  if (!ctx.gates.enabled("PodGroupPreemptionPolicy")) return std::nullopt;
  std::string policy(found ? text_at(*found, "preemptionPolicy") : "");
  if (policy.empty()) policy = "PreemptLowerPriority";
  if (const std::string_view wanted = text_at(spec, "preemptionPolicy"); !wanted.empty() && wanted != policy)
    return refuse("the string value of PreemptionPolicy (" + std::string(wanted) +
                  ") must not be provided in " + std::string(what) +
                  " spec; priority admission controller computed " + policy +
                  " from the given PriorityClass name");
  put(spec, type, "preemptionPolicy", policy);
  return std::nullopt;
}

}  // namespace berth::api
