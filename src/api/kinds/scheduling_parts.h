// Checks that Workload, PodGroup and CompositePodGroup share. All their rules are declarative ones.
//
// `old` is null at creation; then only what changed is checked, as Kubernetes does. Source: types of
// scheduling.k8s.io v1beta1 and v1alpha3.
#pragma once

#include <string_view>

#include "api/kind_rules.h"
#include "api/kinds/resource_parts.h"

namespace berth::api {

inline constexpr std::int64_t kUserPriorityMax = 1000000000;
inline constexpr std::size_t kGroupConditionsMax = 8;

// Which counter a gang of this object has.
enum class GangOf { Pods, Groups };

// schedulingPolicy of `owner`.
FieldErrors check_policy(const FieldPath& path, const Json& owner, GangOf gang);
// Pods: minCount may change, nothing else. Groups: nothing may change.
FieldErrors check_policy_update(const FieldPath& path, const Json& owner, const Json& old, GangOf gang);
// Immutable members of `next`, in order; those that may be set are checked by `check_group_fields`.
FieldErrors check_unchanged(const FieldPath& path, const Json& next, const Json& old,
                            std::initializer_list<std::string_view> names);
// schedulingConstraints, resourceClaims, disruptionMode, priorityClassName, priority, preemptionPolicy of
// `owner`.
FieldErrors check_group_fields(const FieldPath& path, const Json& owner);
FieldErrors check_workload_ref(const FieldPath& path, const Json& ref);

// The PriorityClass that counts for `spec` of a group, filled into it, or why not. `what`: "pod group".
std::optional<Rejection> resolve_priority(Json& spec, const TypeInfo& type, std::string_view what,
                                          const RuleContext& ctx);

}  // namespace berth::api
