#include "cel/checker.h"
#include "cel/format.h"
#include "cel/regex.h"
#include "cel/times.h"

namespace berth::cel {
namespace {

enum class Literals { OneType, Mixed };

void fault(std::vector<Diagnostic>& faults, std::uint32_t offset, std::string message) {
  if (faults.size() < kFaultsMax) faults.push_back({offset, std::move(message)});
}

bool is_text(const Node& node) {
  return node.kind == NodeKind::Constant && node.constant.is(Kind::String);
}

void require_same(const Node& entry, bool optional, TypeRef& wanted, std::vector<Diagnostic>& faults) {
  const TypeRef type = optional && is_optional(entry.type) ? entry.type->parameters[0] : entry.type;
  if (!wanted)
    wanted = type;
  else if (!same_type(type, wanted))
    fault(faults, entry.offset,
          "expected type '" + type_text(wanted) + "' but found '" + type_text(type) + "'");
}

void validate_literal(const Node& node, std::vector<Diagnostic>& faults) {
  TypeRef first, second;
  const std::size_t before = faults.size();
  for (std::size_t i = 0; i < node.args.size() && faults.size() == before; ++i) {
    const bool is_map = node.kind == NodeKind::Map;
    const bool is_value = !is_map || i % 2 == 1;
    const bool optional = is_value && node.optional_entries[is_map ? i / 2 : i];
    require_same(*node.args[i], optional, is_map && is_value ? second : first, faults);
  }
}

void validate_format(const Node& node, std::vector<Diagnostic>& faults) {
  if (node.args.size() != 2 || !is_text(*node.args[0]) || node.args[1]->kind != NodeKind::List) return;
  std::vector<TypeRef> types;
  for (const NodeRef& item : node.args[1]->args) types.push_back(item->type);
  const std::optional<FormatFault> wrong = check_format(node.args[0]->constant.as_text(), types);
  if (!wrong) return;
  const Node& at = wrong->arg < 0 ? *node.args[1] : *node.args[1]->args[static_cast<std::size_t>(wrong->arg)];
  fault(faults, at.offset, wrong->message);
}

void validate_call(const Node& node, PatternCache& patterns, std::vector<Diagnostic>& faults) {
  if (node.name == "format" && node.is_member) return validate_format(node, faults);
  if (node.args.empty() || !is_text(*node.args.back())) return;
  const Node& last = *node.args.back();
  const std::string_view text = last.constant.as_text();
  std::string reason;
  const bool wrong = (node.name == "duration" && !parse_nanos(text)) ||
                     (node.name == "timestamp" && !parse_instant(text)) ||
                     (node.name == "matches" && !compiled_pattern(patterns, text, reason));
  if (wrong) fault(faults, last.offset, "invalid " + node.name + " argument");
}

void validate_under(const Node& node, Literals literals, PatternCache& patterns,
                    std::vector<Diagnostic>& faults) {
  if (node.kind == NodeKind::Call) {
    validate_call(node, patterns, faults);
    if (node.name == "format") literals = Literals::Mixed;
  }
  if (literals == Literals::OneType && (node.kind == NodeKind::List || node.kind == NodeKind::Map))
    validate_literal(node, faults);
  for (const NodeRef& arg : node.args) validate_under(*arg, literals, patterns, faults);
}

}  // namespace

void validate(const Node& root, PatternCache& patterns, std::vector<Diagnostic>& faults) {
  validate_under(root, Literals::OneType, patterns, faults);
}

}  // namespace berth::cel
