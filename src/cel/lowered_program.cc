#include "cel/lowered_program.h"

#include <algorithm>

#include "cel/libraries.h"

namespace berth::cel {
namespace {

// The tree walker's cost of a variable, and of each selection below it.
constexpr std::uint64_t kReadCost = 1;
constexpr std::uint64_t kFieldCost = 2 * kReadCost, kDomainCost = 3 * kReadCost, kEntryCost = 4 * kReadCost;
// Comparing texts of up to this many bytes costs 1.
constexpr std::size_t kCheapText = 10;

// `variable.field` of a declared object, as written without an optional.
bool is_field(const Node& node) {
  if (node.kind != NodeKind::Select || node.is_optional || node.field_index < 0) return false;
  const Node& target = *node.args[0];
  return target.kind == NodeKind::Identifier && target.slot < 0 && target.type->kind == TypeKind::Object;
}

// Selection or index by a literal text, in a map that is not optional.
bool is_look_up(const Node& node, Value& key) {
  const bool select = node.kind == NodeKind::Select || node.kind == NodeKind::Presence;
  if (node.is_optional || node.args.empty() || is_optional(node.args[0]->type)) return false;
  if (select) {
    key = Value::borrow_string(node.name);
    return true;
  }
  if (node.kind != NodeKind::Call || node.special != Special::Index) return false;
  if (node.args[1]->kind != NodeKind::Constant || !node.args[1]->constant.is(Kind::String)) return false;
  key = node.args[1]->constant;
  return true;
}

bool is_sized(const Value& value) {
  return value.is(Kind::String) || value.is(Kind::Bytes) || value.is(Kind::List) || value.is(Kind::Map);
}

std::uint64_t equality_cost(const Value& a, const Value& b) {
  if (!is_sized(a) || !is_sized(b)) return tenth(std::min<std::uint64_t>(size_of(a), size_of(b)));
  if (a.is(Kind::String) && b.is(Kind::String)) {
    const std::size_t least = std::min(a.as_text().size(), b.as_text().size());
    if (least <= kCheapText) return least == 0 ? 0 : 1;
  }
  return tenth(std::min<std::uint64_t>(size_of(a), size_of(b)));
}

}  // namespace

LoweredProgram::LoweredProgram(const Node& root) {
  lower(root);
}

std::uint32_t LoweredProgram::lower(const Node& node) {
  Step step;
  if (node.kind == NodeKind::Constant)
    step.op = Op::Constant;
  else if (!lower_read(node, step) && !lower_call(node, step))
    step.op = Op::Walk;
  step.node = &node;
  steps_.push_back(std::move(step));
  return static_cast<std::uint32_t>(steps_.size() - 1);
}

bool LoweredProgram::lower_read(const Node& node, Step& step) const {
  const Node* field = &node;
  if (is_field(node)) {
    step.op = Op::Field;
  } else {
    if (!is_look_up(node, step.id) || !is_look_up(*node.args[0], step.domain)) return false;
    if (node.args[0]->kind == NodeKind::Presence) return false;
    field = node.args[0]->args[0].get();
    if (!is_field(*field)) return false;
    step.op = node.kind == NodeKind::Presence ? Op::HasEntry : Op::Entry;
  }
  step.variable = field->args[0]->variable_index;
  step.field = static_cast<std::size_t>(field->field_index);
  return true;
}

bool LoweredProgram::lower_call(const Node& node, Step& step) {
  if (node.kind != NodeKind::Call || node.is_member || node.is_free) return false;
  static constexpr struct {
    std::string_view name;
    Op op;
    bool is_negated = false;
    Order order = Order::Less;
  } kOps[] = {{"_&&_", Op::And},
              {"_||_", Op::Or},
              {"_?_:_", Op::Choice},
              {"!_", Op::Not},
              {"_==_", Op::Equal},
              {"_!=_", Op::Equal, true},
              {"_<_", Op::Less, false, Order::Less},
              {"_<=_", Op::Less, false, Order::LessEqual},
              {"_>_", Op::Less, false, Order::Greater},
              {"_>=_", Op::Less, false, Order::GreaterEqual}};
  for (const auto& known : kOps) {
    if (known.name != node.name) continue;
    step.op = known.op;
    step.is_negated = known.is_negated;
    step.order = known.order;
    for (std::size_t i = 0; i < node.args.size(); ++i) step.operands[i] = lower(*node.args[i]);
    return true;
  }
  return false;
}

// One evaluation. When a step cannot handle its operands, the cost is reset to the start of the step and the
// tree walker evaluates the node.
class LoweredProgram::Machine {
 public:
  Machine(const std::vector<Step>& steps, Evaluator& evaluator)
      : steps_(steps), evaluator_(evaluator), cost_(evaluator.cost_) {}

  Value run(std::uint32_t index) {
    const Step& step = steps_[index];
    switch (step.op) {
      case Op::Walk:
        return evaluator_.evaluate(*step.node);
      case Op::Constant:
        return step.node->constant;
      case Op::Field:
        return field(step);
      case Op::Entry:
      case Op::HasEntry:
        return entry(step);
      default:
        break;
    }
    if (evaluator_.is_over_budget()) return evaluator_.budget_error();
    switch (step.op) {
      case Op::Equal:
      case Op::Less:
        return comparison(step);
      case Op::Not:
        return negation(step);
      case Op::Choice:
        return choice(step);
      default:
        return logic(step, step.op == Op::Or);
    }
  }

 private:
  Value walk_from(std::uint64_t cost, const Step& step) {
    cost_ = cost;
    return evaluator_.evaluate(*step.node);
  }

  Value field(const Step& step) {
    const Value& object = evaluator_.variables_[static_cast<std::size_t>(step.variable)];
    if (!object.is(Kind::Object)) return evaluator_.evaluate(*step.node);
    cost_ += kFieldCost;
    return object.as_object().field(step.field);
  }

  Value entry(const Step& step) {
    const Value& object = evaluator_.variables_[static_cast<std::size_t>(step.variable)];
    if (!object.is(Kind::Object) || evaluator_.is_over_budget()) return evaluator_.evaluate(*step.node);
    const Value outer = object.as_object().field(step.field);
    Value inner, found;
    if (!outer.is(Kind::Map) || !outer.as_map().find(step.domain, inner) || !inner.is(Kind::Map))
      return evaluator_.evaluate(*step.node);
    const bool present = inner.as_map().find(step.id, found);
    if (found.is_error()) return evaluator_.evaluate(*step.node);
    if (step.op == Op::HasEntry) {
      cost_ += kDomainCost;
      return Value::of_bool(present);
    }
    if (!present) return evaluator_.evaluate(*step.node);
    cost_ += kEntryCost;
    return found;
  }

  // An operand's error ends a strict call; the call itself costs 1 then.
  Value failed(Value fault) {
    if (evaluator_.is_over_budget()) return evaluator_.budget_error();
    ++cost_;
    return fault;
  }

  Value comparison(const Step& step) {
    const std::uint64_t before = cost_;
    Value left = run(step.operands[0]);
    if (left.is_error()) return failed(std::move(left));
    Value right = run(step.operands[1]);
    if (right.is_error()) return failed(std::move(right));
    if (evaluator_.is_over_budget()) return evaluator_.budget_error();
    if (step.op == Op::Equal) {
      cost_ += equality_cost(left, right);
      const Equality found = equality(left, right);
      if (found == Equality::NoOverload && !step.is_negated) return Value::error("no such overload");
      return Value::of_bool((found == Equality::Same) != step.is_negated);
    }
    if (!left.is(Kind::Int) || !right.is(Kind::Int)) return walk_from(before, step);
    ++cost_;
    const std::int64_t a = left.as_int(), b = right.as_int();
    switch (step.order) {
      case Order::Less:
        return Value::of_bool(a < b);
      case Order::LessEqual:
        return Value::of_bool(a <= b);
      case Order::Greater:
        return Value::of_bool(a > b);
      default:
        return Value::of_bool(a >= b);
    }
  }

  Value negation(const Step& step) {
    const std::uint64_t before = cost_;
    Value value = run(step.operands[0]);
    if (value.is_error()) return failed(std::move(value));
    if (!value.is(Kind::Bool)) return walk_from(before, step);
    if (evaluator_.is_over_budget()) return evaluator_.budget_error();
    ++cost_;
    return Value::of_bool(!value.as_bool());
  }

  Value choice(const Step& step) {
    const Value condition = run(step.operands[0]);
    if (condition.is_error()) return condition;
    if (!condition.is(Kind::Bool)) return Value::error("no such overload");
    const std::size_t side = condition.as_bool() ? 1 : 2;
    Value value = run(step.operands[side]);
    if (is_attribute(*step.node->args[side])) --cost_;
    return value;
  }

  Value logic(const Step& step, bool decisive) {
    Value left = run(step.operands[0]);
    if (left.is(Kind::Bool) && left.as_bool() == decisive) return left;
    return evaluator_.combined(std::move(left), run(step.operands[1]), decisive);
  }

  const std::vector<Step>& steps_;
  Evaluator& evaluator_;
  std::uint64_t& cost_;
};

Value LoweredProgram::run(Evaluator& evaluator) const {
  return Machine(steps_, evaluator).run(static_cast<std::uint32_t>(steps_.size() - 1));
}

}  // namespace berth::cel
