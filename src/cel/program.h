// A compiled expression: compile once, evaluate often, from any thread.
//
// Cost: compilation is linear in the text times the overloads of each call; an evaluation takes time in
// proportion to its CEL cost. Bounds: kExpressionBytesMax, kNestingMax, the cost limit, kTextBytesMax,
// kItemsMax. Source: KEP-4381 device selectors; CEL as Kubernetes configures it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "cel/environment.h"
#include "cel/limits.h"
#include "cel/value.h"

namespace berth::cel {

struct CompileError {
  int line = 0;
  int column = 0;
  std::string message;           // the first error, without its position
  std::string text;              // every error, as Kubernetes prints it
  std::size_t pattern_size = 0;  // like Program::pattern_size()
};

// The required result: bool for a selector, or a dynamic value that evaluates to one.
enum class ResultRule : std::uint8_t { Selector, Any };

struct CostBudget {
  std::uint64_t limit = kSelectorCostMax;
  std::uint64_t* work =
      nullptr;  // steps (work.h) that are left to several evaluations; null: kWorkMax to this one
};

enum class FailureClass : std::uint8_t { Runtime, Cost };

struct Failure {
  FailureClass failure_class = FailureClass::Runtime;
  std::string text;  // Kubernetes' sentence
  std::string hint;  // the probable intention, in Berth's words; empty where unknown

  std::string text_and_hint() const { return hint.empty() ? text : text + "; " + hint; }
};

struct EvalResult {
  std::variant<Value, Failure> outcome;
  std::uint64_t cost = 0;

  bool ok() const { return outcome.index() == 0; }
  // Only for a result without an error.
  const Value& value() const { return std::get<Value>(outcome); }
  const Failure& failure() const { return std::get<Failure>(outcome); }
};

class Program {
 public:
  // `variables` are in the environment's order. The result may borrow from them; use it while they live.
  EvalResult evaluate(std::span<const Value> variables, CostBudget budget = {}) const;
  // The same by the tree walker alone: slower, and the judge of the lowered program.
  EvalResult walk(std::span<const Value> variables, CostBudget budget = {}) const;

  // An upper bound of the cost on a device within the API's limits; the API server refuses more than
  // kSelectorCostMax. An estimate: sizes of intermediate values are bounded from above, not tracked exactly.
  std::uint64_t estimated_cost() const;
  // Instructions of the constant patterns: they are most of the time that compiling takes.
  std::size_t pattern_size() const;
  // The static type of the result, as in "map(string, int)".
  std::string result_type() const;
  // Whether the expression names this variable.
  bool reads(std::string_view variable) const;

  struct Impl;

 private:
  EvalResult result_of(Value value, std::uint64_t cost, bool over_budget) const;
  friend std::variant<Program, CompileError> compile(const Environment&, std::string_view, ResultRule);
  friend class PredicateTerm split(const Program& program);
  explicit Program(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// `environment` must outlive the program.
std::variant<Program, CompileError> compile(const Environment& environment, std::string_view text,
                                            ResultRule rule = ResultRule::Selector);

}  // namespace berth::cel
