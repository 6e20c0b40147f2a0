// Parses text into a syntax tree: operator precedence, macros expanded, && and || chains balanced.
//
// Cost: linear in the text, apart from macros, which copy only simple names.
// Refuses nesting over kNestingMax, so that every later walk may recurse.
// Source: the CEL language definition; macros of cel-go's standard, optional, bindings, lists and
// two-variable sets.
#pragma once

#include <string_view>
#include <variant>

#include "cel/ast.h"
#include "cel/lexer.h"

namespace berth::cel {

inline constexpr int kNestingMax = 250;

std::variant<NodeRef, Diagnostic> parse(std::string_view text);

}  // namespace berth::cel
