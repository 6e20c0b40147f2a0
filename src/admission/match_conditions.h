// matchConditions of a webhook or a policy: CEL over the request, which must
// all hold.
//
// Immutable once compiled, any thread. Bounds: kMatchConditionsMax,
// kConditionsCostMax for one request. Source: KEP-3716; matchconditions of
// k8s.io/apiserver 1.37.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "admission/expression.h"
#include "base/json.h"

namespace berth::admission {

inline constexpr std::size_t kMatchConditionsMax = 64;
inline constexpr std::uint64_t kConditionsCostMax = 2'500'000;  // of one webhook or policy on one request

// What is wrong with an expression; empty when it is one that evaluates to
// bool.
std::string condition_problem(const cel::Environment& environment, std::string_view expression);

enum class Match : std::uint8_t { Yes, No, Failed };

struct MatchResult {
  Match match = Match::Yes;
  std::string errors;  // of Failed: those of every condition
};

class MatchConditions {
 public:
  // `conditions` is the list of a webhook or policy. One that does not compile
  // fails on every request.
  MatchConditions() = default;
  MatchConditions(const cel::Environment& environment, const JsonArray& conditions);

  bool empty() const { return conditions_.empty(); }
  // `values` in the order of the environment. One condition that is false
  // decides, whatever another's error.
  MatchResult evaluate(std::span<const cel::Value> values) const;

 private:
  std::vector<Expression> conditions_;
};

}  // namespace berth::admission
