// The contents of a Program. Only for the phases after the compiler.
#pragma once

#include <optional>

#include "cel/ast.h"
#include "cel/evaluator.h"
#include "cel/lowered_program.h"
#include "cel/program.h"

namespace berth::cel {

struct Program::Impl {
  const Environment* environment = nullptr;
  NodeRef root;
  int slot_count = 0;
  std::uint64_t estimated_cost = 0;
  ResultRule rule = ResultRule::Selector;
  PatternCache patterns;
  std::optional<LoweredProgram> code;  // of root
};

}  // namespace berth::cel
