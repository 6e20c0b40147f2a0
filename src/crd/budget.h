// What one definition and one object may cost: work is counted, and beyond a bound it is refused.
//
// Owner: one validation. The bounds are chosen so that each alone takes less than 300 ms of a core; bench/
// custom_bench.cc measures the worst shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "api/field_error.h"
#include "cel/regex.h"
#include "cel/work.h"

namespace berth::crd {

// Values met by alternatives (anyOf, oneOf, allOf, not) in one validation: nested ones multiply them. More is
// an error of its own.
inline constexpr std::size_t kChecksMax = 250'000;
// Values, required names, and parts of patterns and of errors of one validation; about 50 ns each.
inline constexpr std::uint64_t kStepsMax = 5'000'000;
inline constexpr std::uint64_t kRuleCostMax = 1'000'000;     // CEL cost of one evaluation
inline constexpr std::uint64_t kObjectCostMax = 10'000'000;  // of all rules of one object

// Of one object, or of all defaults of a definition.
struct ObjectBudget {
  std::size_t checks = kChecksMax;
  std::uint64_t steps = kStepsMax;
  std::uint64_t rule_cost = kObjectCostMax;
  std::uint64_t rule_work = cel::kWorkMax;

  // False, now and from then on, when fewer steps are left.
  bool spend(std::uint64_t count) {
    steps = steps > count ? steps - count : 0;
    return steps > 0;
  }
};

inline constexpr std::size_t kSchemaNodesMax = 100'000;  // nested ones included
// Patterns: each is compiled.
inline constexpr std::size_t kPatternsMax = 2'000;
inline constexpr std::size_t kPatternSizeMax =
    400'000;  // instructions of different patterns: what compiling costs
inline constexpr std::size_t kRulesMax = 2'000;
inline constexpr std::size_t kRuleTextMax = 160 * 1024;      // bytes of rules and messageExpressions
inline constexpr std::size_t kRulePatternSizeMax = 200'000;  // instructions of the constant patterns of rules

// Of one definition: all its versions together.
struct DefinitionBudget {
  std::size_t nodes = 0, patterns = 0, pattern_size = 0;
  std::size_t rules = 0, rule_text = 0, rule_pattern_size = 0;
  ObjectBudget defaults;
  cel::PatternCache compiled;  // patterns of values
};

inline constexpr std::size_t kErrorsMax = 100;  // that are named

// The errors of one walk, which asks is_full() before it continues.
class BoundedErrors {
 public:
  bool is_full() const { return errors_.size() >= kErrorsMax || errors_.full(); }
  bool empty() const { return errors_.empty(); }
  std::size_t size() const { return errors_.size(); }
  // Forgets all but the first `count`.
  void cut(std::size_t count) { errors_.cut(count); }
  void add(api::FieldError error) {
    if (!is_full()) errors_.push_back(std::move(error));
  }
  void add_all(api::FieldErrors errors) {
    for (api::FieldError& error : errors) add(std::move(error));
  }
  api::FieldErrors take() { return std::exchange(errors_, {}); }

 private:
  api::FieldErrors errors_;
};

}  // namespace berth::crd
