#include "cel/macros.h"

#include <array>

namespace berth::cel {
namespace {

constexpr std::string_view kResultName = "@result";
using Expansion = std::variant<NodeRef, Diagnostic>;

NodeRef constant(std::uint32_t offset, Value value) {
  NodeRef node = new_node(NodeKind::Constant, offset);
  node->constant = std::move(value);
  return node;
}

NodeRef name(std::uint32_t offset, std::string_view text) {
  NodeRef node = new_node(NodeKind::Identifier, offset);
  node->name = text;
  return node;
}

template <class... Nodes>
NodeRef call(std::uint32_t offset, std::string function, Nodes... nodes) {
  std::vector<NodeRef> args;
  (args.push_back(std::move(nodes)), ...);
  return new_call(offset, std::move(function), std::move(args));
}

template <class... Nodes>
NodeRef member_call(std::uint32_t offset, std::string function, Nodes... nodes) {
  NodeRef node = call(offset, std::move(function), std::move(nodes)...);
  node->is_member = true;
  return node;
}

NodeRef list_of(std::uint32_t offset, NodeRef item) {
  NodeRef node = new_node(NodeKind::List, offset);
  if (item) {
    node->args.push_back(std::move(item));
    node->optional_entries.push_back(false);
  }
  return node;
}

// The parts of a macro call: the receiver, the one or two variables, the expressions after them.
struct Parts {
  std::uint32_t offset = 0;
  NodeRef target;
  std::string variable, second;
  std::vector<NodeRef> rest;
};

NodeRef fold(Parts& parts, NodeRef start, NodeRef condition, NodeRef step, NodeRef result) {
  NodeRef node = new_node(NodeKind::Comprehension, parts.offset);
  node->variable = parts.variable;
  node->second_variable = parts.second;
  node->accumulator = kResultName;
  node->args.push_back(std::move(parts.target));
  for (NodeRef* part : {&start, &condition, &step, &result}) node->args.push_back(std::move(*part));
  return node;
}

NodeRef accumulator(const Parts& parts) {
  return name(parts.offset, kResultName);
}

NodeRef all(Parts& p) {
  const auto at = p.offset;
  return fold(p, constant(at, Value::of_bool(true)), call(at, "@not_strictly_false", accumulator(p)),
              call(at, "_&&_", accumulator(p), std::move(p.rest[0])), accumulator(p));
}

NodeRef exists(Parts& p) {
  const auto at = p.offset;
  return fold(p, constant(at, Value::of_bool(false)),
              call(at, "@not_strictly_false", call(at, "!_", accumulator(p))),
              call(at, "_||_", accumulator(p), std::move(p.rest[0])), accumulator(p));
}

NodeRef exists_one(Parts& p) {
  const auto at = p.offset;
  NodeRef more = call(at, "_+_", accumulator(p), constant(at, Value::of_int(1)));
  NodeRef step = call(at, "_?_:_", std::move(p.rest[0]), std::move(more), accumulator(p));
  return fold(p, constant(at, Value::of_int(0)), constant(at, Value::of_bool(true)), std::move(step),
              call(at, "_==_", accumulator(p), constant(at, Value::of_int(1))));
}

// `start`, extended by `grown` where the filter (all but the last of rest) holds.
NodeRef collect(Parts& p, NodeRef start, NodeRef grown) {
  const auto at = p.offset;
  if (p.rest.size() == 2) grown = call(at, "_?_:_", std::move(p.rest[0]), std::move(grown), accumulator(p));
  return fold(p, std::move(start), constant(at, Value::of_bool(true)), std::move(grown), accumulator(p));
}

NodeRef map(Parts& p) {
  const auto at = p.offset;
  return collect(p, list_of(at, nullptr),
                 call(at, "_+_", accumulator(p), list_of(at, std::move(p.rest.back()))));
}

NodeRef filter(Parts& p) {
  const auto at = p.offset;
  p.rest.push_back(name(at, p.variable));
  return map(p);
}

NodeRef transform_map(Parts& p) {
  const auto at = p.offset;
  NodeRef grown = call(at, "cel.@mapInsert", accumulator(p), name(at, p.variable), std::move(p.rest.back()));
  return collect(p, new_node(NodeKind::Map, at), std::move(grown));
}

NodeRef transform_map_entry(Parts& p) {
  const auto at = p.offset;
  NodeRef grown = call(at, "cel.@mapInsert", accumulator(p), std::move(p.rest.back()));
  return collect(p, new_node(NodeKind::Map, at), std::move(grown));
}

NodeRef bound(std::uint32_t at, std::string variable, NodeRef value, NodeRef body) {
  Parts parts{.offset = at, .target = list_of(at, nullptr), .variable = "#unused", .second = {}, .rest = {}};
  NodeRef step = name(at, variable);
  NodeRef node =
      fold(parts, std::move(value), constant(at, Value::of_bool(false)), std::move(step), std::move(body));
  node->accumulator = std::move(variable);
  return node;
}

// The receiver is bound, not copied: a copy would double with every link of a chain.
NodeRef opt_map_with(Parts& p, NodeRef present) {
  const auto at = p.offset;
  NodeRef has = member_call(at, "hasValue", name(at, "@target"));
  NodeRef choice = call(at, "_?_:_", std::move(has), std::move(present), call(at, "optional.none"));
  return bound(at, "@target", std::move(p.target), std::move(choice));
}

NodeRef opt_body(Parts& p) {
  NodeRef value = member_call(p.offset, "value", name(p.offset, "@target"));
  return bound(p.offset, p.variable, std::move(value), std::move(p.rest[0]));
}

NodeRef opt_map(Parts& p) {
  return opt_map_with(p, call(p.offset, "optional.of", opt_body(p)));
}
NodeRef opt_flat_map(Parts& p) {
  return opt_map_with(p, opt_body(p));
}

NodeRef sort_by(Parts& p) {
  const auto at = p.offset;
  NodeRef input = std::move(p.target);
  p.target = name(at, "@__sortBy_input__");
  NodeRef keys = map(p);
  NodeRef sorted = member_call(at, "@sortByAssociatedKeys", name(at, "@__sortBy_input__"), std::move(keys));
  return bound(at, "@__sortBy_input__", std::move(input), std::move(sorted));
}

struct Macro {
  std::string_view name;
  std::size_t args;
  int variables;
  NodeRef (*expand)(Parts&);
};

constexpr std::array<Macro, 20> kMacros = {{
    {"all", 2, 1, all},
    {"all", 3, 2, all},
    {"exists", 2, 1, exists},
    {"exists", 3, 2, exists},
    {"exists_one", 2, 1, exists_one},
    {"exists_one", 3, 2, exists_one},
    {"existsOne", 2, 1, exists_one},
    {"existsOne", 3, 2, exists_one},
    {"map", 2, 1, map},
    {"map", 3, 1, map},
    {"filter", 2, 1, filter},
    {"transformList", 3, 2, map},
    {"transformList", 4, 2, map},
    {"transformMap", 3, 2, transform_map},
    {"transformMap", 4, 2, transform_map},
    {"transformMapEntry", 3, 2, transform_map_entry},
    {"transformMapEntry", 4, 2, transform_map_entry},
    {"optMap", 2, 1, opt_map},
    {"optFlatMap", 2, 1, opt_flat_map},
    {"sortBy", 2, 1, sort_by},
}};

Expansion expand_member(const Macro& macro, NodeRef node) {
  Parts parts;
  parts.offset = node->offset;
  parts.target = std::move(node->args[0]);
  for (int i = 1; i <= macro.variables; ++i) {
    const Node& variable = *node->args[static_cast<std::size_t>(i)];
    if (variable.kind != NodeKind::Identifier || variable.is_absolute)
      return Diagnostic{variable.offset, "argument must be a simple name"};
    if (variable.name == kResultName || variable.name == "__result__")
      return Diagnostic{variable.offset, "iteration variable overwrites accumulator variable"};
    (i == 1 ? parts.variable : parts.second) = variable.name;
  }
  if (macro.variables == 2 && parts.variable == parts.second)
    return Diagnostic{node->args[2]->offset, "duplicate variable name: " + parts.variable};
  for (std::size_t i = static_cast<std::size_t>(macro.variables) + 1; i < node->args.size(); ++i)
    parts.rest.push_back(std::move(node->args[i]));
  return macro.expand(parts);
}

Expansion expand_has(NodeRef node) {
  Node& operand = *node->args[0];
  if (operand.kind != NodeKind::Select || operand.is_optional)
    return Diagnostic{operand.offset, "invalid argument to has() macro"};
  NodeRef inner = std::move(node->args[0]);
  inner->kind = NodeKind::Presence;
  return inner;
}

Expansion expand_bind(NodeRef node) {
  const Node& variable = *node->args[1];
  if (variable.kind != NodeKind::Identifier || variable.is_absolute)
    return Diagnostic{variable.offset, "cel.bind() variable names must be simple identifiers"};
  return bound(node->offset, variable.name, std::move(node->args[2]), std::move(node->args[3]));
}

}  // namespace

NodeRef new_node(NodeKind kind, std::uint32_t offset) {
  NodeRef node = std::make_unique<Node>();
  node->kind = kind;
  node->offset = offset;
  return node;
}

NodeRef new_call(std::uint32_t offset, std::string function, std::vector<NodeRef> args) {
  NodeRef node = new_node(NodeKind::Call, offset);
  node->name = std::move(function);
  node->args = std::move(args);
  return node;
}

std::variant<NodeRef, Diagnostic> expand_macro(NodeRef node) {
  if (!node->is_member) {
    if (node->name == "has" && node->args.size() == 1) return expand_has(std::move(node));
    return node;
  }
  const Node& target = *node->args[0];
  if (node->name == "bind" && node->args.size() == 4 && target.kind == NodeKind::Identifier &&
      target.name == "cel")
    return expand_bind(std::move(node));
  for (const Macro& macro : kMacros)
    if (macro.name == node->name && macro.args + 1 == node->args.size())
      return expand_member(macro, std::move(node));
  return node;
}

}  // namespace berth::cel
