// A checked tree lowered for speed: reads of the device's entries, comparisons and logic as a flat list of
// steps. The tree walker evaluates every other node, and every step with unusual operands.
//
// Owner: a Program, immutable, shared by threads. Cost of a step some 10 ns. The value, the error and the
// cost are the tree walker's.
#pragma once

#include <cstdint>
#include <vector>

#include "cel/ast.h"
#include "cel/evaluator.h"

namespace berth::cel {

class LoweredProgram {
 public:
  // `root` is folded and outlives this object.
  explicit LoweredProgram(const Node& root);
  // Adds the cost to the evaluator's.
  Value run(Evaluator& evaluator) const;

 private:
  enum class Op : std::uint8_t {
    Walk,      // left to the tree walker
    Constant,  // node.constant
    Field,     // of the object that a variable holds
    Entry,     // of a map in a map in a field of such an object
    HasEntry,
    Equal,  // or not
    Less,   // of two ints; `order` is the operator
    Not,
    And,
    Or,
    Choice
  };
  enum class Order : std::uint8_t { Less, LessEqual, Greater, GreaterEqual };
  struct Step {
    Op op = Op::Walk;
    bool is_negated = false;  // Equal
    Order order = Order::Less;
    const Node* node = nullptr;
    std::uint32_t operands[3] = {};  // steps
    int variable = -1;
    std::size_t field = 0;
    Value domain, id;  // keys; borrowed from the tree
  };
  class Machine;

  std::uint32_t lower(const Node& node);
  bool lower_read(const Node& node, Step& step) const;
  bool lower_call(const Node& node, Step& step);

  std::vector<Step> steps_;  // operands before their users
};

}  // namespace berth::cel
