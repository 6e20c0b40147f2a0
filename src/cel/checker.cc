#include "cel/checker.h"

#include <algorithm>
#include <array>

#include "base/nearest_names.h"
#include "cel/messages.h"

namespace berth::cel {
namespace {

struct Local {
  std::string name;
  TypeRef type;
  int slot;
};

struct SpecialName {
  std::string_view name;
  Special special;
};
constexpr std::array<SpecialName, 8> kSpecials = {{{"_&&_", Special::And},
                                                   {"_||_", Special::Or},
                                                   {"_?_:_", Special::Choice},
                                                   {"@not_strictly_false", Special::NotStrictlyFalse},
                                                   {"_[_]", Special::Index},
                                                   {"_[?_]", Special::OptionalIndex},
                                                   {"or", Special::FirstPresent},
                                                   {"orValue", Special::ValueOr}}};

std::string dotted(const Node& node) {
  if (node.kind == NodeKind::Identifier) return node.name;
  if (node.kind != NodeKind::Select || node.is_optional) return "";
  const std::string left = dotted(*node.args[0]);
  return left.empty() ? "" : left + "." + node.name;
}

// The type that a name denotes in expressions; null for other names.
TypeRef named_type(std::string_view name) {
  const TypeRef dyn = simple_type(TypeKind::Dyn);
  if (name == "list") return list_type(dyn);
  if (name == "map") return map_type(dyn, dyn);
  if (name == "optional_type") return optional_type(dyn);
  for (const TypeKind kind :
       {TypeKind::Bool, TypeKind::Int, TypeKind::Uint, TypeKind::Double, TypeKind::String, TypeKind::Bytes,
        TypeKind::Null, TypeKind::Type, TypeKind::Duration, TypeKind::Timestamp})
    if (simple_type(kind)->name == name) return simple_type(kind);
  for (const char* object : {"net.IP", "net.CIDR", "kubernetes.URL", "kubernetes.Quantity",
                             "kubernetes.Semver", "kubernetes.NamedFormat"})
    if (name == object) return object_type(object);
  return nullptr;
}

class Checker {
 public:
  Checker(const Environment& environment, std::vector<Diagnostic>& faults)
      : environment_(environment), faults_(faults) {}

  void check(Node& node) {
    switch (node.kind) {
      case NodeKind::Constant:
        return check_constant(node);
      case NodeKind::Identifier:
        return check_identifier(node);
      case NodeKind::Select:
      case NodeKind::Presence:
        return check_select(node);
      case NodeKind::Call:
        return check_call(node);
      case NodeKind::List:
        return check_list(node);
      case NodeKind::Map:
        return check_map(node);
      case NodeKind::Message:
        return check_message(node);
      case NodeKind::Comprehension:
        return check_comprehension(node);
    }
  }

  void finish(Node& node) {
    if (node.type) node.type = types_.apply(node.type, Substitution::Free::ToDyn);
    for (const NodeRef& arg : node.args) finish(*arg);
  }

  int slot_count() const { return slot_count_; }

 private:
  // Names that are compared with an unknown one.
  static constexpr std::size_t kCandidatesMax = 300;

  bool is_full() const { return faults_.size() >= kFaultsMax; }
  void fault(std::uint32_t offset, std::string message) {
    if (!is_full()) faults_.push_back({offset, std::move(message)});
  }
  TypeRef fresh() { return type_parameter("#" + std::to_string(next_parameter_++)); }
  TypeRef resolved(const TypeRef& type) const { return types_.apply(type, Substitution::Free::Keep); }
  std::string shown(const TypeRef& type) const {
    return type_text(types_.apply(type, Substitution::Free::ToDyn));
  }

  void expect(const Node& node, const TypeRef& wanted) {
    if (!types_.assign(node.type, wanted))
      fault(node.offset, "expected type '" + shown(wanted) + "' but found '" + shown(node.type) + "'");
  }

  void undeclared(const Node& node, const std::vector<std::string>& candidates) {
    node_error(
        node, "undeclared reference to '" + node.name + "' (in container '')" + meant(node.name, candidates));
  }
  void node_error(const Node& node, std::string message) { fault(node.offset, std::move(message)); }

  static std::string meant(std::string_view name, const std::vector<std::string>& candidates) {
    std::string text;
    for (const std::string& near : nearest_names(name, candidates))
      text += (text.empty() ? "'" : ", '") + near + "'";
    return text.empty() ? "" : "; did you mean " + text + "?";
  }

  void check_constant(Node& node) {
    node.type =
        node.constant.is(Kind::Null) ? simple_type(TypeKind::Null) : parse_type(node.constant.type_name());
  }

  bool resolve_type_name(Node& node, const std::string& name) {
    const TypeRef type = named_type(name);
    if (!type) return false;
    node.kind = NodeKind::Constant;
    node.constant = Value::of_type(type->name);
    node.type = type_type(type);
    return true;
  }

  void check_identifier(Node& node) {
    for (auto local = locals_.rbegin(); local != locals_.rend(); ++local) {
      if (node.is_absolute || local->name != node.name) continue;
      node.slot = local->slot;
      node.type = local->type;
      return;
    }
    node.variable_index = environment_.variable_index(node.name);
    if (node.variable_index >= 0) {
      node.type = environment_.variable_type(node.variable_index);
      return;
    }
    if (resolve_type_name(node, node.name)) return;
    node.type = simple_type(TypeKind::Dyn);
    if (is_full()) return;
    std::vector<std::string> names = environment_.variable_names();
    for (const Local& local : locals_)
      if (local.name[0] != '@' && local.name[0] != '#' && names.size() < kCandidatesMax)
        names.push_back(local.name);
    undeclared(node, names);
  }

  bool is_local(std::string_view dotted_name) const {
    const std::string_view root = dotted_name.substr(0, dotted_name.find('.'));
    return std::any_of(locals_.begin(), locals_.end(),
                       [&](const Local& local) { return local.name == root; });
  }

  void check_select(Node& node) {
    if (node.kind == NodeKind::Select && !node.is_optional) {
      const std::string name = dotted(node);
      if (!name.empty() && !is_local(name) && resolve_type_name(node, name)) {
        node.args.clear();
        return;
      }
    }
    Node& operand = *node.args[0];
    check(operand);
    TypeRef target = resolved(operand.type);
    const bool unwrapped = is_optional(target);
    if (unwrapped) target = resolved(target->parameters[0]);
    TypeRef field = field_type(node, target);
    if (node.kind == NodeKind::Presence)
      node.type = simple_type(TypeKind::Bool);
    else
      node.type = unwrapped || node.is_optional ? optional_type(field) : field;
  }

  TypeRef field_type(Node& node, const TypeRef& target) {
    const TypeRef dyn = simple_type(TypeKind::Dyn);
    if (target->kind == TypeKind::Map) return target->parameters[1];
    if (target->kind == TypeKind::Dyn) return dyn;
    if (target->kind == TypeKind::Parameter) {
      types_.assign(dyn, target);
      return dyn;
    }
    const bool is_object = target->kind == TypeKind::Object;
    if (is_object && environment_.is_open_message(target->name)) return dyn;
    const std::vector<Field>* fields = is_object ? environment_.fields_of(target->name) : nullptr;
    if (!fields) {
      fault(node.offset, "type '" + shown(target) + "' does not support field selection");
      return dyn;
    }
    node.field_index = environment_.field_index(target->name, node.name);
    if (node.field_index >= 0) return (*fields)[static_cast<std::size_t>(node.field_index)].type;
    if (is_full()) return dyn;
    std::vector<std::string> names;
    for (const Field& field : *fields)
      if (names.size() < kCandidatesMax) names.push_back(field.name);
    fault(node.offset, "undefined field '" + node.name + "'" + meant(node.name, names));
    return dyn;
  }

  void check_call(Node& node) {
    for (const SpecialName& special : kSpecials)
      if (special.name == node.name) node.special = special.special;
    if (node.special == Special::And || node.special == Special::Or) {
      for (const NodeRef& arg : node.args) {
        check(*arg);
        expect(*arg, simple_type(TypeKind::Bool));
      }
      node.type = simple_type(TypeKind::Bool);
      return;
    }
    if (node.is_member) {
      const std::string target = dotted(*node.args[0]);
      if (!target.empty() && !is_local(target) && environment_.functions(target + "." + node.name)) {
        node.name = target + "." + node.name;
        node.args.erase(node.args.begin());
        node.is_member = false;
        node.special = Special::None;
      }
    }
    if (node.is_member) check(*node.args[0]);
    const std::vector<Overload>* overloads = environment_.functions(node.name);
    node.type = simple_type(TypeKind::Dyn);
    if (!overloads) {
      if (!is_full()) undeclared(node, environment_.function_names());
      return;
    }
    for (std::size_t i = node.is_member ? 1 : 0; i < node.args.size(); ++i) check(*node.args[i]);
    resolve_overloads(node, *overloads);
  }

  TypeRef renamed(const TypeRef& type, std::vector<std::pair<std::string, TypeRef>>& names) {
    if (type->kind == TypeKind::Parameter) {
      for (const auto& [name, replacement] : names)
        if (name == type->name) return replacement;
      names.emplace_back(type->name, fresh());
      return names.back().second;
    }
    if (!type->has_type_variable) return type;
    std::vector<TypeRef> parameters;
    for (const TypeRef& parameter : type->parameters) parameters.push_back(renamed(parameter, names));
    return with_parameters(*type, std::move(parameters));
  }

  void resolve_overloads(Node& node, const std::vector<Overload>& overloads) {
    std::vector<TypeRef> args;
    for (const NodeRef& arg : node.args) args.push_back(resolved(arg->type));
    TypeRef result;
    for (const Overload& overload : overloads) {
      if (overload.is_member != node.is_member || overload.parameters.size() != args.size()) continue;
      std::vector<std::pair<std::string, TypeRef>> names;
      std::vector<TypeRef> wanted;
      for (const TypeRef& parameter : overload.parameters) wanted.push_back(renamed(parameter, names));
      const TypeRef yields = renamed(overload.result, names);
      if (!types_.assign_all(args, wanted)) continue;
      node.overloads.push_back(&overload);
      const TypeRef found = resolved(yields);
      if (!result)
        result = found;
      else if (!is_dyn(result) && !same_type(found, result))
        result = simple_type(TypeKind::Dyn);
    }
    if (result) {
      node.type = result;
      return;
    }
    std::string applied;
    for (std::size_t i = node.is_member ? 1 : 0; i < args.size(); ++i)
      applied += (applied.empty() ? "" : ", ") + shown(args[i]);
    const std::string receiver = node.is_member ? shown(args[0]) + "." : "";
    fault(node.offset, "found no matching overload for '" + node.name + "' applied to '" + receiver + "(" +
                           applied + ")'");
  }

  TypeRef joined(const TypeRef& previous, const TypeRef& next) {
    if (!previous) return next;
    return types_.assign(previous, next) ? most_general(resolved(previous), resolved(next))
                                         : simple_type(TypeKind::Dyn);
  }

  // The type of an entry; the optional's parameter when the entry is optional.
  TypeRef entry_type(const Node& value, bool optional) {
    const TypeRef type = resolved(value.type);
    if (!optional) return type;
    if (is_optional(type)) return type->parameters[0];
    if (!is_dyn(type)) {
      fault(value.offset,
            "expected type 'optional_type(" + shown(type) + ")' but found '" + shown(type) + "'");
      return type;
    }
    fault(value.offset, "an optional entry needs a value of optional type, this one is dynamic");
    return type;
  }

  void check_list(Node& node) {
    TypeRef item;
    for (std::size_t i = 0; i < node.args.size(); ++i) {
      check(*node.args[i]);
      item = joined(item, entry_type(*node.args[i], node.optional_entries[i]));
    }
    node.type = bounded(node, list_type(item ? item : fresh()));
  }

  TypeRef bounded(const Node& node, TypeRef type) {
    if (type->weight <= kTypeWeightMax) return type;
    fault(node.offset,
          "the type of this literal nests more than " + std::to_string(kTypeWeightMax) + " types");
    return simple_type(TypeKind::Dyn);
  }

  void check_map(Node& node) {
    TypeRef key, value;
    for (std::size_t i = 0; i + 1 < node.args.size(); i += 2) {
      check(*node.args[i]);
      check(*node.args[i + 1]);
      key = joined(key, node.args[i]->type);
      value = joined(value, entry_type(*node.args[i + 1], node.optional_entries[i / 2]));
    }
    node.type = bounded(node, map_type(key ? key : fresh(), value ? value : fresh()));
  }

  void check_message(Node& node) {
    for (const NodeRef& arg : node.args) check(*arg);
    std::vector<Field> fields;
    node.type = message_type(node.name, environment_, fields);
    if (!node.type) {
      node.type = simple_type(TypeKind::Dyn);
      return fault(node.offset, "undeclared reference to '" + node.name + "' (in container '')");
    }
    for (std::size_t i = 0; i < node.args.size(); ++i) {
      const TypeRef wanted = message_field(node, fields, node.fields[i]);
      if (wanted)
        expect(*node.args[i], node.optional_entries[i] ? optional_type(wanted) : wanted);
      else
        fault(node.entry_offsets[i], "undefined field '" + node.fields[i] + "'");
    }
  }

  // Null for a field that the message has not.
  TypeRef message_field(const Node& node, const std::vector<Field>& fields, const std::string& name) const {
    for (const Field& field : fields)
      if (field.name == name) return field.type;
    if (environment_.is_open_message(node.name)) return simple_type(TypeKind::Dyn);
    const int declared = environment_.field_index(node.name, name);
    return declared < 0 ? nullptr
                        : (*environment_.fields_of(node.name))[static_cast<std::size_t>(declared)].type;
  }

  int declare(const std::string& name, TypeRef type) {
    locals_.push_back({name, std::move(type), slot_count_});
    return slot_count_++;
  }

  void check_comprehension(Node& node) {
    check(*node.args[kRange]);
    check(*node.args[kStart]);
    const TypeRef range = resolved(node.args[kRange]->type);
    TypeRef first = simple_type(TypeKind::Dyn), second = first;
    const bool two = !node.second_variable.empty();
    if (range->kind == TypeKind::List) {
      first = two ? simple_type(TypeKind::Int) : range->parameters[0];
      second = range->parameters[0];
    } else if (range->kind == TypeKind::Map) {
      first = range->parameters[0];
      second = range->parameters[1];
    } else if ((is_dyn(range) && !is_any(range)) || range->kind == TypeKind::Parameter) {
      types_.assign(simple_type(TypeKind::Dyn), range);
    } else {
      fault(node.args[kRange]->offset,
            "expression of type '" + shown(range) +
                "' cannot be range of a comprehension (must be list, map, or dynamic)");
    }
    const std::size_t outer = locals_.size();
    const TypeRef accumulated = node.args[kStart]->type;
    node.accumulator_slot = declare(node.accumulator, accumulated);
    const std::size_t with_accumulator = locals_.size();
    node.slot = declare(node.variable, first);
    if (two) node.second_slot = declare(node.second_variable, second);
    check(*node.args[kCondition]);
    expect(*node.args[kCondition], simple_type(TypeKind::Bool));
    check(*node.args[kStep]);
    expect(*node.args[kStep], accumulated);
    mark_last_use(*node.args[kStep], node.accumulator_slot);
    locals_.resize(with_accumulator);
    check(*node.args[kResult]);
    node.type = node.args[kResult]->type;
    locals_.resize(outer);
  }

  // A step that extends the accumulator owns it: the new value overwrites the old one.
  static void mark_last_use(Node& step, int slot) {
    if (step.kind != NodeKind::Call || step.args.size() < 2) return;
    if (step.special == Special::Choice) return mark_last_use(*step.args[1], slot);
    Node& first = *step.args[0];
    const bool extends = step.name == "_+_" || step.name == "cel.@mapInsert";
    if (extends && first.kind == NodeKind::Identifier && first.slot == slot && first.name == "@result")
      first.is_last_use = true;
  }

  const Environment& environment_;
  std::vector<Diagnostic>& faults_;
  Substitution types_;
  std::vector<Local> locals_;
  int slot_count_ = 0;
  int next_parameter_ = 0;
};

}  // namespace

int check(Node& root, const Environment& environment, std::vector<Diagnostic>& faults) {
  Checker checker(environment, faults);
  checker.check(root);
  checker.finish(root);
  return checker.slot_count();
}

}  // namespace berth::cel
