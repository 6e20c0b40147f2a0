#include "cel/evaluator.h"

#include <array>
#include <cmath>

#include "cel/builders.h"
#include "cel/libraries.h"
#include "cel/limits.h"
#include "cel/messages.h"

namespace berth::cel {
namespace {

// Patterns built at run time that are cached for the rest of one evaluation.
constexpr std::size_t kPatternsMax = 64;
constexpr std::size_t kArgsMax = 5;

// The list position that a value denotes; false when it denotes none.
bool list_index(const Value& key, std::int64_t& index) {
  if (key.is(Kind::Int)) {
    index = key.as_int();
    return true;
  }
  if (key.is(Kind::Uint) && key.as_uint() <= INT64_MAX) {
    index = static_cast<std::int64_t>(key.as_uint());
    return true;
  }
  if (!key.is(Kind::Double) || std::trunc(key.as_double()) != key.as_double()) return false;
  if (std::abs(key.as_double()) > 9e15) return false;
  index = static_cast<std::int64_t>(key.as_double());
  return true;
}

Value not_an_index(const Value& key) {
  if (key.is(Kind::Double)) return Value::error("unsupported index value " + text_of(key) + " in list");
  return Value::error("unsupported index type '" + std::string(key.type_name()) + "' in list");
}

// An error even where an absent member is none.
bool is_wrong_index(const Value& target, const Value& key) {
  std::int64_t at = 0;
  return target.is(Kind::List) && !list_index(key, at);
}

Extent extent_of(const Value& value) {
  return {value.kind(), size_of(value), &value, 1};
}

std::string go_type(const Value& value) {
  std::string name(value.type_name());
  const std::size_t dot = name.rfind('.');
  if (dot != std::string::npos) name = name.substr(dot + 1);
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 32);
  return "types." + name;
}

}  // namespace

bool is_attribute(const Node& node) {
  return node.kind == NodeKind::Identifier || node.kind == NodeKind::Select ||
         node.special == Special::Index || node.special == Special::OptionalIndex;
}

Evaluator::Evaluator(const Environment& environment, const PatternCache& constant_patterns,
                     std::span<const Value> variables, int slot_count, std::uint64_t cost_limit)
    : environment_(environment),
      constant_patterns_(constant_patterns),
      variables_(variables),
      slots_(static_cast<std::size_t>(slot_count)),
      bindings_(static_cast<std::size_t>(slot_count)),
      limit_(cost_limit) {}

const Regex* Evaluator::regex(std::string_view pattern, std::size_t bytes, std::string& reason) {
  const Regex* found = compiled(pattern, reason);
  if (!found || spend_work(bytes * found->size() / kPatternBytesPerStep)) return found;
  reason = std::string(budget_error().as_text());
  return nullptr;
}

const Regex* Evaluator::compiled(std::string_view pattern, std::string& reason) {
  if (const auto found = constant_patterns_.find(pattern); found != constant_patterns_.end())
    return found->second.get();
  if (const auto found = patterns_.find(pattern); found != patterns_.end()) return found->second.get();
  std::shared_ptr<const Regex> compiled = Regex::compile(pattern, reason);
  spend_work(kPatternSteps + (compiled ? compiled->size() : pattern.size()) * kStepsPerInstruction);
  if (!compiled) return nullptr;
  if (patterns_.size() >= kPatternsMax) patterns_.clear();
  return patterns_.emplace(std::string(pattern), std::move(compiled)).first->second.get();
}

Value Evaluator::budget_error() const {
  return Value::error("operation cancelled: actual cost limit exceeded");
}

Value Evaluator::evaluate(const Node& node) {
  switch (node.kind) {
    case NodeKind::Constant:
      return node.constant;
    case NodeKind::Identifier:
      return identifier(node);
    case NodeKind::Select:
      return select(node);
    case NodeKind::Presence:
      return presence(node);
    case NodeKind::Call:
      return call(node);
    case NodeKind::List:
      return list(node);
    case NodeKind::Map:
      return map(node);
    case NodeKind::Message:
      return message(node);
    case NodeKind::Comprehension:
      return comprehension(node);
  }
  return Value();
}

Value Evaluator::identifier(const Node& node) {
  if (node.slot < 0) {
    ++cost_;
    return variables_[static_cast<std::size_t>(node.variable_index)];
  }
  Binding& binding = bindings_[static_cast<std::size_t>(node.slot)];
  if (binding.start) {
    read_bound(node, binding);
    if (binding.is_repeated) return slots_[static_cast<std::size_t>(node.slot)];
  } else if (binding.is_repeated) {
    cost_ += binding.cost;
    return slots_[static_cast<std::size_t>(node.slot)];
  }
  ++cost_;
  Value& slot = slots_[static_cast<std::size_t>(node.slot)];
  return node.is_last_use ? std::move(slot) : slot;
}

void Evaluator::bind(const Node& comprehension) {
  Binding& binding = bindings_[static_cast<std::size_t>(comprehension.accumulator_slot)];
  binding = {comprehension.args[kStart].get(), 0, comprehension.accumulator == "@target"};
}

void Evaluator::read_bound(const Node& node, Binding& binding) {
  const Node& start = *binding.start;
  binding.start = nullptr;
  const std::uint64_t before = cost_;
  Value value = evaluate(start);
  binding.cost = cost_ - before;
  slots_[static_cast<std::size_t>(node.slot)] = std::move(value);
}

bool Evaluator::find_in(const Node& node, const Value& target, const Value& key, Value& out,
                        Value& fault) const {
  std::int64_t at = 0;
  if (target.is(Kind::Map)) {
    if (target.as_map().find(key, out)) return true;
    std::string hint = target.as_map().missing_key_hint(key);
    fault = Value::error("no such key: " + text_of(key) + std::string(kMissingKeyAdvice) + std::move(hint));
  } else if (target.is(Kind::List)) {
    if (!list_index(key, at)) {
      fault = not_an_index(key);
      return false;
    }
    if (at >= 0 && static_cast<std::uint64_t>(at) < target.as_list().size()) {
      out = target.as_list().at(static_cast<std::size_t>(at));
      return true;
    }
    fault = Value::error("index out of bounds: " + std::to_string(at));
  } else if (target.is(Kind::Object) && !target.as_object().is_opaque() && key.is(Kind::String)) {
    if (node.field_index >= 0) {
      out = target.as_object().field(static_cast<std::size_t>(node.field_index));
      return true;
    }
    const std::vector<Field>* fields = environment_.fields_of(target.type_name());
    for (std::size_t i = 0; fields && i < fields->size(); ++i) {
      if ((*fields)[i].name != key.as_text()) continue;
      out = target.as_object().field(i);
      return true;
    }
    fault = Value::error(fields ? "no such field '" + text_of(key) + "'" : "no such key: " + text_of(key));
  } else {
    fault = Value::error("no such key: " + text_of(key));
  }
  return false;
}

Value Evaluator::looked_up(const Node& node, const Value& target, const Value& key) {
  Value found, fault;
  if (target.is(Kind::Optional)) {
    if (!target.has_inner()) return target;
    if (!find_in(node, target.inner(), key, found, fault))
      return is_wrong_index(target.inner(), key) ? fault : Value::none();
    return found.is_error() ? found : Value::some(std::move(found));
  }
  const bool present = find_in(node, target, key, found, fault);
  if (present && found.is_error()) return found;
  if (node.is_optional) {
    if (!present) --cost_;
    if (!present && is_wrong_index(target, key)) return fault;
    return present ? Value::some(std::move(found)) : Value::none();
  }
  return present ? found : fault;
}

Value Evaluator::select(const Node& node) {
  const Value target = evaluate(*node.args[0]);
  cost_ += is_attribute(*node.args[0]) ? 1 : 2;
  if (target.is_error()) return target;
  return looked_up(node, target, Value::borrow_string(node.name));
}

Value Evaluator::presence(const Node& node) {
  Value target = evaluate(*node.args[0]);
  if (!is_attribute(*node.args[0])) ++cost_;
  if (target.is_error()) return target;
  if (target.is(Kind::Optional)) {
    if (!target.has_inner()) return Value::of_bool(false);
    target = Value(target.inner());
  }
  // What is no container has no members.
  Value found, fault;
  const Value name = Value::borrow_string(node.name);
  const bool present = find_in(node, target, name, found, fault);
  if (is_wrong_index(target, name)) return fault;
  return found.is_error() ? found : Value::of_bool(present);
}

Value Evaluator::index(const Node& node) {
  const Value target = evaluate(*node.args[0]);
  if (target.is_error()) return target;
  const Value key = evaluate(*node.args[1]);
  cost_ += is_attribute(*node.args[0]) ? 0 : 1;
  if (!is_attribute(*node.args[1])) ++cost_;
  if (key.is_error()) return key;
  return looked_up(node, target, key);
}

Value Evaluator::call(const Node& node) {
  if (is_over_budget()) return budget_error();
  switch (node.special) {
    case Special::And:
      return logic(node, false);
    case Special::Or:
      return logic(node, true);
    case Special::Choice:
      return choice(node);
    case Special::NotStrictlyFalse: {
      const Value value = evaluate(*node.args[0]);
      ++cost_;
      return Value::of_bool(!value.is(Kind::Bool) || value.as_bool());
    }
    case Special::Index:
    case Special::OptionalIndex:
      return index(node);
    case Special::FirstPresent:
    case Special::ValueOr:
      return optional_choice(node);
    case Special::None:
      break;
  }
  return strict_call(node);
}

Value Evaluator::logic(const Node& node, bool decisive) {
  Value left = evaluate(*node.args[0]);
  if (left.is(Kind::Bool) && left.as_bool() == decisive) return left;
  return combined(std::move(left), evaluate(*node.args[1]), decisive);
}

Value Evaluator::combined(Value left, Value right, bool decisive) const {
  if (is_over_budget()) return budget_error();
  if (right.is(Kind::Bool) && right.as_bool() == decisive) return right;
  if (left.is(Kind::Bool) && right.is(Kind::Bool)) return right;
  if (left.is_error()) return left;
  if (right.is_error()) return right;
  return Value::error("no such overload");
}

Value Evaluator::choice(const Node& node) {
  const Value condition = evaluate(*node.args[0]);
  if (condition.is_error()) return condition;
  if (!condition.is(Kind::Bool)) return Value::error("no such overload");
  const Node& chosen = *node.args[condition.as_bool() ? 1 : 2];
  Value value = evaluate(chosen);
  if (is_attribute(chosen)) --cost_;
  return value;
}

Value Evaluator::optional_choice(const Node& node) {
  const Value target = evaluate(*node.args[0]);
  if (target.is_error()) return target;
  if (!target.is(Kind::Optional)) return Value::error("no such overload");
  if (!target.has_inner()) return evaluate(*node.args[1]);
  return node.special == Special::ValueOr ? target.inner() : target;
}

// A value that Go cannot hash fails in the reference's look-up in a constant set.
std::string_view unhashable_type(const Value& value) {
  if (value.is(Kind::Semver)) return "cel.Semver";
  return value.is(Kind::Bytes) ? "types.Bytes" : "";
}

Value Evaluator::strict_call(const Node& node) {
  std::array<Value, kArgsMax> storage;
  if (node.args.size() > storage.size()) return Value::error("no such overload");
  const std::span<Value> args(storage.data(), node.args.size());
  Value fault;
  for (std::size_t i = 0; i < args.size() && !fault.is_error(); ++i) {
    args[i] = evaluate(*node.args[i]);
    if (args[i].is_error()) fault = args[i];
  }
  if (is_over_budget()) return budget_error();
  if (fault.is_error()) {
    ++cost_;
    return fault;
  }
  if (node.is_in_set)
    if (const std::string_view type = unhashable_type(args[0]); !type.empty())
      return Value::error("internal error: runtime error: hash of unhashable type " + std::string(type));
  for (const Overload* overload : node.overloads) {
    if (!overload->accepts(args)) continue;
    if (node.is_free) return overload->run(args, *this);
    if (!overload->cost) {
      ++cost_;
      return overload->run(args, *this);
    }
    std::array<Extent, kArgsMax> extents;
    for (std::size_t i = 0; i < args.size(); ++i) extents[i] = extent_of(args[i]);
    Value result = overload->run(args, *this);
    cost_ += overload->cost(std::span<const Extent>(extents.data(), args.size()), extent_of(result));
    return result;
  }
  ++cost_;
  const bool is_operator = node.name.find('_') != std::string::npos || node.name[0] == '@';
  return is_operator ? Value::error("no such overload") : no_overload(node.name, args);
}

Value Evaluator::list(const Node& node) {
  cost_ += kListCost;
  std::vector<Value> items;
  items.reserve(node.args.size());
  for (std::size_t i = 0; i < node.args.size(); ++i) {
    Value item = evaluate(*node.args[i]);
    if (item.is_error()) return item;
    if (!node.optional_entries[i]) {
      items.push_back(std::move(item));
    } else {
      if (!item.is(Kind::Optional)) return Value::error("no such overload");
      if (item.has_inner()) items.push_back(item.inner());
    }
  }
  return Value::of_list(std::move(items));
}

Value Evaluator::map(const Node& node) {
  cost_ += kMapCost;
  MapBuilder map;
  for (std::size_t i = 0; i + 1 < node.args.size(); i += 2) {
    Value key = evaluate(*node.args[i]);
    if (key.is_error()) return key;
    Value value = evaluate(*node.args[i + 1]);
    if (value.is_error()) return value;
    const bool scalar = key.is(Kind::Bool) || key.is(Kind::String) || key.is(Kind::Int) || key.is(Kind::Uint);
    if (!scalar) return Value::error("unsupported key type: " + std::string(key.type_name()));
    if (!node.optional_entries[i / 2]) {
      map.insert(std::move(key), std::move(value));
    } else {
      if (!value.is(Kind::Optional)) return Value::error("no such overload");
      if (value.has_inner()) map.insert(std::move(key), value.inner());
    }
  }
  return map.take();
}

Value Evaluator::message(const Node& node) {
  cost_ += kMessageCost;
  std::vector<MessageField> fields;
  for (std::size_t i = 0; i < node.args.size(); ++i) {
    Value value = evaluate(*node.args[i]);
    if (value.is_error()) return value;
    if (node.optional_entries[i]) {
      if (!value.is(Kind::Optional))
        return Value::error("cannot initialize optional entry '" + node.fields[i] +
                            "' from non-optional value");
      if (!value.has_inner()) continue;
      value = Value(value.inner());
    }
    fields.push_back({node.fields[i], std::move(value)});
  }
  return message_value(node.name, std::move(fields), environment_);
}

Value Evaluator::comprehension(const Node& node) {
  if (is_bind(node)) {
    bind(node);
    return evaluate(*node.args[kResult]);
  }
  const Value range = evaluate(*node.args[kRange]);
  if (range.is_error()) return range;
  if (!range.is(Kind::List) && !range.is(Kind::Map))
    return Value::error("got '" + go_type(range) + "', expected iterable type");
  Value start = evaluate(*node.args[kStart]);
  slots_[static_cast<std::size_t>(node.accumulator_slot)] = std::move(start);
  if (Value fault = fold(node, range); fault.is_error()) return fault;
  return evaluate(*node.args[kResult]);
}

// Runs the steps; returns an error only when the budget is spent. An error of a step stays in the
// accumulator.
Value Evaluator::fold(const Node& node, const Value& range) {
  Value& accumulator = slots_[static_cast<std::size_t>(node.accumulator_slot)];
  Value& first = slots_[static_cast<std::size_t>(node.slot)];
  const bool is_list = range.is(Kind::List), two = node.second_slot >= 0;
  const bool always =
      node.args[kCondition]->kind == NodeKind::Constant && node.args[kCondition]->constant.is_true();
  const std::size_t size = is_list ? range.as_list().size() : range.as_map().size();
  for (std::size_t i = 0; i < size; ++i) {
    if (always && accumulator.is_error()) break;
    if (is_list) {
      first = two ? Value::of_int(static_cast<std::int64_t>(i)) : range.as_list().at(i);
      if (two) slots_[static_cast<std::size_t>(node.second_slot)] = range.as_list().at(i);
    } else {
      first = range.as_map().key_at(i);
      if (two) range.as_map().find(first, slots_[static_cast<std::size_t>(node.second_slot)]);
    }
    if (!evaluate(*node.args[kCondition]).is_true()) break;
    Value next = evaluate(*node.args[kStep]);
    accumulator = std::move(next);
    if (is_over_budget()) return budget_error();
  }
  return Value();
}

}  // namespace berth::cel
