// What a DeviceTaintRule's condition EvictionInProgress says. Source: kube-controller-manager 1.37, whose
// words clients match.
#pragma once

#include "controllers/device_evictions.h"

namespace berth::controllers {

inline constexpr std::string_view kEvictionInProgress = "EvictionInProgress";

struct TaintRuleProgress {
  std::size_t pods_pending = 0;
  std::size_t namespaces_pending = 0;
  std::size_t pods_evicted = 0;       // by this process
  std::size_t devices_published = 0;  // the two only for a rule without effect
  std::size_t devices_allocated = 0;
};

// Counts what the rule does, or would do if its effect is None. Cost: O(claims), and for None O(slices).
TaintRuleProgress progress_of(const client::View& view, const api::DeviceTaintRule& rule);

api::Condition eviction_condition(const api::DeviceTaintRule& rule, const TaintRuleProgress& progress,
                                  Time now);

}  // namespace berth::controllers
