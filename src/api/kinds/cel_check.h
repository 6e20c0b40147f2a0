// The compiler of CEL expressions, as the rules of the kinds see it: plugged in by the program.
//
// Room api may not depend on room cel. Without a plug every expression passes. Set once, before requests are
// served.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::api {

class Gates;

enum class CelUse {
  Selector,          // must answer a bool
  DerivedAttribute,  // a scalar or a list of scalars
};

struct CelVerdict {
  // "compilation failed: ERROR: <input>:1:1: …", or "must evaluate to bool or …"; empty when the expression
  // is fine.
  std::string complaint;
  bool too_complex = false;    // its worst cost is above the limit
  std::uint64_t cost_max = 0;  // the worst cost
};

inline constexpr std::uint64_t kCelCostMax = 1000000;

using CelCheck = CelVerdict (*)(std::string_view expression, CelUse use, const Gates& gates);

void set_cel_check(CelCheck check);
CelVerdict check_cel(std::string_view expression, CelUse use, const Gates& gates);

}  // namespace berth::api
