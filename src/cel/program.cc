#include "cel/program.h"

#include <array>

#include "cel/checker.h"
#include "cel/estimate.h"
#include "cel/parser.h"
#include "cel/program_impl.h"

namespace berth::cel {

namespace {

constexpr std::array<std::string_view, 10> kFoldedCalls = {"int",   "uint",      "double",   "string", "bool",
                                                           "bytes", "timestamp", "duration", "type",   "dyn"};

CompileError error_of(std::string_view text, const std::vector<Diagnostic>& faults) {
  const SourceLocation position = location_of(text, faults[0].offset);
  CompileError error{position.line, position.column, faults[0].message, "compilation failed: ", 0};
  for (std::size_t i = 0; i < faults.size(); ++i) error.text += (i ? "\n" : "") + render(text, faults[i]);
  return error;
}

// A hint follows Kubernetes' advice.
Failure runtime_failure(std::string_view text) {
  const std::size_t advice = text.find(kMissingKeyAdvice);
  const std::size_t end = advice == text.npos ? text.size() : advice + kMissingKeyAdvice.size();
  return {FailureClass::Runtime, std::string(text.substr(0, end)), std::string(text.substr(end))};
}

CompileError plain_error(std::string text) {
  return CompileError{1, 1, text, text, 0};
}

// Replaces constants by their values, like cel-go's planner: this decides which errors appear at compile time
// and which nodes are free of charge.
class Folder {
 public:
  explicit Folder(Program::Impl& impl) : impl_(impl) {}

  // The error of a constant call, or empty.
  std::string fold(Node& node) {
    for (const NodeRef& arg : node.args)
      if (std::string fault = fold(*arg); !fault.empty()) return fault;
    if (node.kind == NodeKind::List || node.kind == NodeKind::Map) fold_literal(node);
    if (node.kind == NodeKind::Call) return fold_call(node);
    return "";
  }

 private:
  Value value_of(const Node& node) const {
    return Evaluator(*impl_.environment, impl_.patterns, {}, 0, kSelectorCostMax).evaluate(node);
  }

  static void become(Node& node, Value value) {
    node.kind = NodeKind::Constant;
    node.special = Special::None;
    node.constant = std::move(value);
    node.args.clear();
  }

  // Go's type of a constant that may not be an index.
  static std::string_view unqualifying_type(const Node& node) {
    if (node.kind != NodeKind::Constant) return "";
    switch (node.constant.kind()) {
      case Kind::Null:
        return "types.Null";
      case Kind::Bytes:
        return "types.Bytes";
      case Kind::List:
        return "*types.baseList";
      case Kind::Map:
        return "*types.baseMap";
      case Kind::Timestamp:
        return "types.Timestamp";
      case Kind::Duration:
        return "types.Duration";
      default:
        return "";
    }
  }

  static bool has_only_scalars(const ListSource& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Value item = list.at(i);
      if (!item.is_number() && !item.is(Kind::String) && !item.is(Kind::Bool)) return false;
    }
    return true;
  }

  void fold_literal(Node& node) const {
    for (const NodeRef& arg : node.args)
      if (arg->kind != NodeKind::Constant) return;
    for (const bool optional : node.optional_entries)
      if (optional) return;
    if (Value value = value_of(node); !value.is_error()) become(node, std::move(value));
  }

  std::string fold_call(Node& node) {
    const bool constant_last = !node.args.empty() && node.args.back()->kind == NodeKind::Constant;
    if (node.name == "@in" && constant_last && node.args[1]->constant.is(Kind::List)) {
      node.is_free = true;
      if (node.args[1]->constant.as_list().size() == 0) return become(node, Value::of_bool(false)), "";
      node.is_in_set = has_only_scalars(node.args[1]->constant.as_list());
    }
    if (node.special == Special::Index || node.special == Special::OptionalIndex)
      if (const std::string_view type = unqualifying_type(*node.args[1]); !type.empty())
        return "invalid qualifier type: " + std::string(type);
    for (const std::string_view name : kFoldedCalls) {
      if (name != node.name || node.is_member || node.args.size() != 1 || !constant_last) continue;
      Value value = value_of(node);
      if (value.is_error()) return std::string(value.as_text());
      become(node, std::move(value));
      return "";
    }
    return cache_pattern(node);
  }

  std::string cache_pattern(const Node& node) {
    if (node.args.size() < 2 || (node.name != "matches" && node.name != "find" && node.name != "findAll"))
      return "";
    const Node& pattern = *node.args[1];
    if (pattern.kind != NodeKind::Constant || !pattern.constant.is(Kind::String)) return "";
    std::string reason;
    compiled_pattern(impl_.patterns, pattern.constant.as_text(), reason);
    return reason;
  }

  Program::Impl& impl_;
};

bool names_variable(const Node& node, int index) {
  if (node.kind == NodeKind::Identifier && node.slot < 0 && node.variable_index == index) return true;
  for (const NodeRef& arg : node.args)
    if (names_variable(*arg, index)) return true;
  return false;
}

std::string not_bool_text(const Value& value) {
  const std::string name(value.type_name());
  const std::string short_name = name.substr(name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1);
  std::string reason = "type conversion error from '" + short_name + "' to 'bool'";
  if (value.is(Kind::String)) reason = "unsupported native conversion from string to 'bool'";
  if (value.is(Kind::Int)) reason = "unsupported type conversion from 'int' to bool";
  if (value.is(Kind::List) || value.is(Kind::Map))
    reason = "type conversion error from " + name + " to 'bool'";
  return "CEL result of type " + name + " could not be converted to bool: " + reason;
}

}  // namespace

std::variant<Program, CompileError> compile(const Environment& environment, std::string_view text,
                                            ResultRule rule) {
  std::variant<NodeRef, Diagnostic> parsed = parse(text);
  if (const Diagnostic* fault = std::get_if<Diagnostic>(&parsed)) return error_of(text, {*fault});
  auto impl = std::make_shared<Program::Impl>();
  impl->environment = &environment;
  impl->rule = rule;
  impl->root = std::get<NodeRef>(std::move(parsed));
  std::vector<Diagnostic> faults;
  impl->slot_count = check(*impl->root, environment, faults);
  if (faults.empty()) validate(*impl->root, impl->patterns, faults);
  if (!faults.empty()) {
    CompileError error = error_of(text, faults);
    error.pattern_size = pattern_size(impl->patterns);
    return error;
  }
  const TypeRef& type = impl->root->type;
  const bool is_bool = type->kind == TypeKind::Bool || is_dyn(type);
  const bool is_wrapped = type->kind == TypeKind::Wrapper && type->parameters[0]->kind == TypeKind::Bool;
  if (rule == ResultRule::Selector && !is_bool && !is_wrapped)
    return plain_error("must evaluate to bool or the unknown type, not " + type_text(type));
  impl->estimated_cost = estimate_cost(*impl->root, environment);
  if (std::string fault = Folder(*impl).fold(*impl->root); !fault.empty()) {
    CompileError error = plain_error("program instantiation failed: " + fault);
    error.pattern_size = pattern_size(impl->patterns);
    return error;
  }
  impl->code.emplace(*impl->root);
  return Program(std::move(impl));
}

EvalResult Program::evaluate(std::span<const Value> variables, CostBudget budget) const {
  std::uint64_t own_work = kWorkMax;
  const WorkScope scope(budget.work ? *budget.work : own_work);
  Evaluator evaluator(*impl_->environment, impl_->patterns, variables, impl_->slot_count, budget.limit);
  Value value = impl_->code->run(evaluator);
  return result_of(std::move(value), evaluator.cost(), evaluator.is_over_budget());
}

EvalResult Program::walk(std::span<const Value> variables, CostBudget budget) const {
  std::uint64_t own_work = kWorkMax;
  const WorkScope scope(budget.work ? *budget.work : own_work);
  Evaluator evaluator(*impl_->environment, impl_->patterns, variables, impl_->slot_count, budget.limit);
  Value value = evaluator.evaluate(*impl_->root);
  return result_of(std::move(value), evaluator.cost(), evaluator.is_over_budget());
}

EvalResult Program::result_of(Value value, std::uint64_t cost, bool over_budget) const {
  if (over_budget)
    return {Failure{FailureClass::Cost, "operation cancelled: actual cost limit exceeded", {}}, cost};
  if (value.is_error()) return {runtime_failure(value.as_text()), cost};
  if (impl_->rule == ResultRule::Selector && !value.is(Kind::Bool))
    return {Failure{FailureClass::Runtime, not_bool_text(value), {}}, cost};
  return {std::move(value), cost};
}

std::uint64_t Program::estimated_cost() const {
  return impl_->estimated_cost;
}
std::size_t Program::pattern_size() const {
  return cel::pattern_size(impl_->patterns);
}
std::string Program::result_type() const {
  return type_text(impl_->root->type);
}
bool Program::reads(std::string_view variable) const {
  const int index = impl_->environment->variable_index(variable);
  return index >= 0 && names_variable(*impl_->root, index);
}

}  // namespace berth::cel
