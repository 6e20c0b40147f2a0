// x-kubernetes-validations: the CEL rules of a schema, compiled once, and their verdict on a document.
//
// Any thread. An evaluation ends within kRuleCostMax, all of one object within kObjectCostMax. Source:
// KEP-2876, KEP-4008 (what an update leaves as it was is not judged again); texts, estimates and their limits
// of apiextensions-apiserver 1.37.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "api/field_error.h"
#include "base/json.h"
#include "crd/budget.h"
#include "crd/lazy_path.h"
#include "crd/schema.h"

namespace berth::crd {

inline constexpr std::size_t kRuleMessageBytesMax = 5 * 1024;  // of a messageExpression's result

class RuleSet;

// Null when the schema has no rules. `schema` is that of a whole object, outlives the rules and stays in
// place. Equal texts on equal types are compiled once.
std::shared_ptr<const RuleSet> compile_rules(const Schema& schema, DefinitionBudget& budget);

// Judges the value of `schema`, which is a part of what was compiled, and everything below. `old` is null for
// a create. `path` is empty for a whole object.
api::FieldErrors check_rules(const RuleSet& rules, const Schema& schema, const Json& value, const Json* old,
                             const LazyPath& path, ObjectBudget& budget);

// Which estimates are compared with their limit. Rules that are stored already were each accepted.
enum class CostCheck : std::uint8_t { EachAndAll, AllTogether };

// What is wrong with the rules themselves, their estimated cost included. `path`: of the schema in its
// definition.
api::FieldErrors rule_problems(const RuleSet& rules, const Schema& schema, const Json& props,
                               const std::string& path, CostCheck cost_check);

// ".spec.size" or ".a['b c']" as the error's field, "spec.size" or "a[b c]"; nothing when the schema has no
// such field.
std::optional<std::string> rule_field(const Json& props, std::string_view path);

}  // namespace berth::crd
