// The macros of CEL: calls that the parser rewrites to comprehensions, presence tests and simpler calls.
#pragma once

#include <optional>
#include <variant>

#include "cel/ast.h"
#include "cel/lexer.h"

namespace berth::cel {

NodeRef new_node(NodeKind kind, std::uint32_t offset);
NodeRef new_call(std::uint32_t offset, std::string name, std::vector<NodeRef> args);

// The expansion of `call`, or the call unchanged when it is no macro call.
std::variant<NodeRef, Diagnostic> expand_macro(NodeRef call);

}  // namespace berth::cel
