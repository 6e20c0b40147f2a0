// The compiler of CEL expressions for the rules of the kinds: passed in with their RuleContext, because room
// api may not depend on room cel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::api {

class Gates;

enum class CelUse {
  Selector,          // must return a bool
  DerivedAttribute,  // a scalar or a list of scalars
};

struct CelVerdict {
  // "compilation failed: ERROR: <input>:1:1: …", or "must evaluate to bool or …"; empty for a valid
  // expression.
  std::string complaint;
  bool too_complex = false;    // its largest possible cost is above the limit
  std::uint64_t cost_max = 0;  // the largest possible cost
};

inline constexpr std::uint64_t kCelCostMax = 1000000;

// Any thread.
using CelCheck = CelVerdict (*)(std::string_view expression, CelUse use, const Gates& gates);

}  // namespace berth::api
