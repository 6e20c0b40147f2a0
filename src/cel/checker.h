// Type checking: resolves names, selects overloads, reports every mismatch in cel-go's words and adds the
// probable intention.
//
// Cost: nodes times overloads. Source: cel-go's checker; validators as the Kubernetes base environment
// configures them.
#pragma once

#include <vector>

#include "cel/ast.h"
#include "cel/environment.h"
#include "cel/lexer.h"
#include "cel/regex.h"

namespace berth::cel {

inline constexpr std::size_t kFaultsMax = 20;

// Annotates the tree and returns the number of variable slots it needs. Appends up to kFaultsMax diagnostics.
int check(Node& root, const Environment& environment, std::vector<Diagnostic>& faults);

// Kubernetes' checks after the type check: literals of one type, constant durations, timestamps, patterns and
// formats. `patterns` takes what was compiled.
void validate(const Node& root, PatternCache& patterns, std::vector<Diagnostic>& faults);

}  // namespace berth::cel
