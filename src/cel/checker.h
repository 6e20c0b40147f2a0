// Types: resolves names, picks overloads, reports every mismatch in cel-go's words and adds what was probably
// meant.
//
// Cost: nodes times overloads. Source: cel-go's checker; validators as the Kubernetes base environment sets
// them.
#pragma once

#include <vector>

#include "cel/ast.h"
#include "cel/environment.h"
#include "cel/lexer.h"

namespace berth::cel {

inline constexpr std::size_t kFaultsMax = 20;

// Annotates the tree and returns the number of variable slots it needs. Faults are appended, at most
// kFaultsMax.
int check(Node& root, const Environment& environment, std::vector<Diagnostic>& faults);

// What Kubernetes checks after types: literals of one type, constant durations, timestamps, patterns and
// formats.
void validate(const Node& root, std::vector<Diagnostic>& faults);

}  // namespace berth::cel
