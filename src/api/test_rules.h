// The context in which tests ask the rules of a kind: nothing else is stored, and nobody asks.
#pragma once

#include "api/kind_rules.h"
#include "api/test_cel.h"

namespace berth::api {

// `gates` outlives it.
inline RuleContext context_of_empty_cluster(const Gates& gates, CelCheck check_cel = accept_any_cel) {
  return {gates,
          check_cel,
          Time{},
          "",
          [](auto, auto, auto) { return std::optional<Json>(); },
          [](auto, auto) { return std::vector<Json>(); }};
}

}  // namespace berth::api
