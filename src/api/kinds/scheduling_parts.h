// Checks that Workload, PodGroup and CompositePodGroup share. All their rules are declarative.
//
// `old` is null for a create; on an update only changes are validated, as in Kubernetes. Source: types of
// scheduling.k8s.io v1beta1 and v1alpha3.
#pragma once

#include <string_view>

#include "api/kind_rules.h"
#include "api/kinds/resource_parts.h"

namespace berth::api {

inline constexpr std::int64_t kUserPriorityMax = 1000000000;
inline constexpr std::size_t kGroupConditionsMax = 8;
// What the JSON of a PriorityClass contains that is the default.
inline constexpr std::string_view kIsGlobalDefault = "\"globalDefault\":true";

// The counter that a gang of this object has.
enum class GangOf { Pods, Groups };

// schedulingPolicy of `owner`.
FieldErrors check_policy(const FieldPath& path, const Json& owner, GangOf gang);
// Pods: minCount may change, nothing else. Groups: nothing may change.
FieldErrors check_policy_update(const FieldPath& path, const Json& owner, const Json& old, GangOf gang);
// Immutable members of `next`, in order; `check_group_fields` validates the changeable ones.
FieldErrors check_unchanged(const FieldPath& path, const Json& next, const Json& old,
                            std::initializer_list<std::string_view> names);
// schedulingConstraints, resourceClaims, disruptionMode, priorityClassName, priority, preemptionPolicy of
// `owner`.
FieldErrors check_group_fields(const FieldPath& path, const Json& owner);
FieldErrors check_workload_ref(const FieldPath& path, const Json& ref);

// Resolves the PriorityClass of `spec`, a group's, and fills it in, or returns the reason why not. `what`:
// "pod group".
std::optional<Rejection> resolve_priority(Json& spec, const TypeInfo& type, std::string_view what,
                                          const RuleContext& ctx);

}  // namespace berth::api
