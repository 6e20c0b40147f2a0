#include "cel/ast.h"

namespace berth::cel {
namespace {

std::string joined(const Node& node, std::string_view head) {
  std::string out = "(" + std::string(head);
  for (std::size_t i = 0; i < node.args.size(); ++i) {
    const bool optional =
        i < node.optional_entries.size() && node.kind == NodeKind::List && node.optional_entries[i];
    out += (optional ? " ?" : " ") + ast_text(*node.args[i]);
  }
  return out + ")";
}

std::string map_text(const Node& node) {
  std::string out = "(map";
  for (std::size_t i = 0; i + 1 < node.args.size(); i += 2)
    out += (node.optional_entries[i / 2] ? " ?" : " ") + ast_text(*node.args[i]) + ":" +
           ast_text(*node.args[i + 1]);
  return out + ")";
}

}  // namespace

bool is_bind(const Node& node) {
  if (node.kind != NodeKind::Comprehension) return false;
  const Node& condition = *node.args[kCondition];
  return condition.kind == NodeKind::Constant && !condition.constant.is_true();
}

std::string ast_text(const Node& node) {
  const std::string question = node.is_optional ? "?" : "";
  switch (node.kind) {
    case NodeKind::Constant:
      return debug_text(node.constant);
    case NodeKind::Identifier:
      return node.name;
    case NodeKind::Select:
      return ast_text(*node.args[0]) + "." + question + node.name;
    case NodeKind::Presence:
      return "has(" + ast_text(*node.args[0]) + "." + node.name + ")";
    case NodeKind::Call:
      return joined(node, (node.is_member ? "." : "") + node.name);
    case NodeKind::List:
      return joined(node, "list");
    case NodeKind::Map:
      return map_text(node);
    case NodeKind::Message: {
      std::string out = "(" + node.name;
      for (std::size_t i = 0; i < node.args.size(); ++i)
        out += " " + node.fields[i] + "=" + ast_text(*node.args[i]);
      return out + ")";
    }
    case NodeKind::Comprehension:
      break;
  }
  const std::string second = node.second_variable.empty() ? "" : "," + node.second_variable;
  return joined(node, "fold " + node.variable + second + " " + node.accumulator);
}

}  // namespace berth::cel
