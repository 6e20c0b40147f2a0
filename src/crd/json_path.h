// The JSON paths of printer columns, selectable fields and scale subresources: ".spec.replicas",
// ".status.conditions[?(@.type=="Ready")].status".
//
// Immutable, any thread. Cost: what the path leads through, at most kPathStepsMax values. Source: the
// JSONPath of client-go: members, `['name']`, indexes, slices, `*`, `..` and filters with one comparison.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace berth::crd {

inline constexpr std::size_t kPathBytesMax = 1024;
inline constexpr std::size_t kPathStepsMax = 100'000;

class JsonPath {
 public:
  // Refuses (Invalid) what it cannot follow.
  static Result<JsonPath> parse(std::string_view text);

  // The first value that it leads to; null when there is none. Borrowed from `document`.
  const Json* first(const Json& document) const;

 private:
  enum class Kind : std::uint8_t { Member, Every, Index, Slice, Deep, Filter };
  enum class Compare : std::uint8_t { Exists, Equal, Unequal, Less, LessOrEqual, Greater, GreaterOrEqual };
  struct Operand {
    std::vector<std::string> members;  // below `@`
    std::optional<Json> constant;
  };
  struct Step {
    Kind kind = Kind::Member;
    std::string name;
    std::optional<std::int64_t> from, to;
    Operand left, right;
    Compare compare = Compare::Exists;
  };
  class Parser;
  class Walk;

  static bool passes(const Step& step, const Json& item);

  std::vector<Step> steps_;
};

}  // namespace berth::crd
