// The tree-walking evaluator: slow, obvious, and the judge of any faster one.
//
// Owner: one evaluation on one thread. Errors are values that && and || absorb; a spent budget is final.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cel/ast.h"
#include "cel/environment.h"
#include "cel/regex.h"
#include "cel/work.h"

namespace berth::cel {

// Kubernetes' advice after "no such key: …"; a hint of Berth follows it.
inline constexpr std::string_view kMissingKeyAdvice =
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for "
    "optional fields";

// Whether cel-go's planner turns the node into an attribute; such reads cost less.
bool is_attribute(const Node& node);

class Evaluator : public Runtime {
 public:
  Evaluator(const Environment& environment, const PatternCache& constant_patterns,
            std::span<const Value> variables, int slot_count, std::uint64_t cost_limit);

  Value evaluate(const Node& node);
  // Declares the variable of an enclosing cel.bind, before one of its subexpressions is evaluated.
  void bind(const Node& comprehension);

  std::uint64_t cost() const { return cost_; }
  bool is_over_budget() const { return cost_ > limit_ || is_work_spent(); }

  const Regex* regex(std::string_view pattern, std::size_t bytes, std::string& reason) override;

 private:
  friend class LoweredProgram;

  // A bound expression is evaluated at the first read of its name: the error of an unread one is ignored.
  struct Binding {
    const Node* start = nullptr;  // null once evaluated
    std::uint64_t cost = 0;
    bool is_repeated = false;  // every read costs as much as the expression in its place
  };
  void read_bound(const Node& node, Binding& binding);

  Value identifier(const Node& node);
  Value select(const Node& node);
  Value presence(const Node& node);
  Value call(const Node& node);
  Value logic(const Node& node, bool decisive);
  // For && and || whose left side did not decide.
  Value combined(Value left, Value right, bool decisive) const;
  Value choice(const Node& node);
  Value index(const Node& node);
  Value optional_choice(const Node& node);
  Value strict_call(const Node& node);
  Value list(const Node& node);
  Value map(const Node& node);
  Value message(const Node& node);
  Value comprehension(const Node& node);
  Value fold(const Node& node, const Value& range);

  // The field or entry; an optional target gives an optional.
  Value looked_up(const Node& node, const Value& target, const Value& key);
  bool find_in(const Node& node, const Value& target, const Value& key, Value& out, Value& fault) const;
  Value budget_error() const;
  const Regex* compiled(std::string_view pattern, std::string& reason);

  const Environment& environment_;
  const PatternCache& constant_patterns_;
  std::span<const Value> variables_;
  std::vector<Value> slots_;
  std::vector<Binding> bindings_;
  PatternCache patterns_;
  std::uint64_t cost_ = 0;
  std::uint64_t limit_;
};

}  // namespace berth::cel
