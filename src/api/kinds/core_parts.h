// Checks and defaults that core kinds share with the templates of other kinds.
//
// Pure functions over canonical documents. Source: k8s.io/kubernetes pkg/apis/core validation and defaults
// (1.37); the texts are those recorded from kube-apiserver.
#pragma once

#include <initializer_list>
#include <string_view>

#include "api/kind_rules.h"
#include "api/kinds/document.h"
#include "api/kinds/formats.h"

namespace berth::api {

// A type of core/v1.
const TypeInfo& core_type(std::string_view name);

// Sets `value` where the member is absent or null.
void put_default(Json& object, const TypeInfo& type, std::string_view key, Json value);

// "example.com/gpu": not of kubernetes.io and not a plain word. Whole units only, never overcommitted.
bool is_extended_resource(std::string_view name);
// Not negative; whole for extended resources. `text` is a canonical quantity.
FieldErrors check_amount(const std::string& path, std::string_view resource, std::string_view text);
// requests and limits of `resources`, its claims against `claims` of the pod.
FieldErrors check_resources(const FieldPath& path, const Json& resources, const NamedItems& claims);

FieldErrors check_one_of(const std::string& path, std::string_view value,
                         std::initializer_list<std::string_view> supported);
// 1 to 65535.
FieldErrors check_port(const std::string& path, std::int64_t port);
FieldErrors check_taints(const FieldPath& path, const JsonArray& taints);
FieldErrors check_pod_tolerations(const FieldPath& path, const JsonArray& tolerations);
FieldErrors check_label_selector(const FieldPath& path, const Json& selector);
// affinity and topologySpreadConstraints of `spec`, a pod spec.
FieldErrors check_affinity(const FieldPath& path, const Json& affinity);
FieldErrors check_spread(const FieldPath& path, const JsonArray& constraints);

// accessModes of `spec`, that of a volume or of a claim.
FieldErrors check_access_modes(const FieldPath& path, const Json* spec);

// A key of ConfigMap or Secret data.
NameProblems config_key_problems(std::string_view key);

// One entry for a negative number, else none.
FieldErrors check_not_negative(const std::string& path, const Json& object, std::string_view key);
// "field is immutable" where the member differs.
FieldErrors check_immutable(const std::string& path, const Json* next, const Json* old);
// The same for an object of this type, which the error shows as go_form().
FieldErrors check_immutable(const std::string& path, const Json* next, const Json* old, const TypeInfo& type);

}  // namespace berth::api
