// Checks that several kinds of resource.k8s.io share.
//
// Kubernetes reports the findings of its hand-written checks first, then those of the types' declarative
// rules: `Findings` keeps the two apart. Pure functions over canonical documents of resource.k8s.io/v1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/gates_fields.h"
#include "api/kind_rules.h"
#include "api/kinds/document.h"
#include "api/kinds/formats.h"

namespace berth::api {

inline constexpr std::size_t kDriverBytesMax = 63;
inline constexpr std::size_t kQualifiedIdBytesMax = 32;
inline constexpr std::size_t kSelectorsMax = 32;
inline constexpr std::size_t kExpressionBytesMax = 10 << 10;
inline constexpr std::size_t kOpaqueBytesMax = 10 << 10;
inline constexpr std::size_t kBindingConditionsMax = 4;
inline constexpr std::size_t kConditionReasonBytesMax = 1024;
inline constexpr std::size_t kConditionMessageBytesMax = 32 << 10;

struct Findings {
  FieldErrors by_hand;
  FieldErrors declared;

  // All of them, in the clients' order.
  FieldErrors all() &&;
};

// A type of resource.k8s.io/v1.
const TypeInfo& resource_type(std::string_view name);
std::string_view text_at(const Json& object, std::string_view key);

FieldErrors check_driver(const std::string& path, std::string_view driver);
FieldErrors check_declared_driver(const std::string& path, std::string_view driver);
FieldErrors check_pool_name(const std::string& path, std::string_view pool);
// "name" or "domain/name" of an attribute or capacity.
FieldErrors check_qualified_name(const std::string& path, std::string_view name);
FieldErrors check_full_name(const std::string& path, std::string_view name);
// At most `count_max` items; the entry that Kubernetes returns otherwise.
FieldErrors check_count(const std::string& path, std::size_t count, std::size_t count_max);
// Exactly one of `names` is present in `object`.
FieldErrors check_union(const std::string& path, const Json& object,
                        std::initializer_list<std::string_view> names);

void check_taint(const FieldPath& path, const Json& taint, const Json* old, Findings& findings);
void check_tolerations(const FieldPath& path, const Json& owner, Findings& findings);
// bindingConditions and bindingFailureConditions of `owner`, a device or an allocation result.
FieldErrors check_binding_conditions(const FieldPath& path, const Json& owner);
// `opaque` of a configuration entry.
void check_opaque(const FieldPath& path, const Json& entry, Findings& findings);
// A free-form JSON object of bounded size. `value` may be null: then it is required.
FieldErrors check_parameters(const std::string& path, const Json* value);
// Not compiled again when `old` has exactly the same list.
void check_selectors(const FieldPath& path, const Json& owner, const Json* old, const RuleContext& ctx,
                     Findings& findings);
// skipNodeOperations of a slice or an allocation result.
FieldErrors check_skipped_operations(const FieldPath& path, const JsonArray& operations);
// A core NodeSelector.
FieldErrors check_node_selector(const FieldPath& path, const Json& selector);
// metav1.Condition entries.
FieldErrors check_conditions(const FieldPath& path, const JsonArray& conditions, std::size_t count_max);

}  // namespace berth::api
