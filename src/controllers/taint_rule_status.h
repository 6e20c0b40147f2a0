// The text of a DeviceTaintRule's condition EvictionInProgress. Source: kube-controller-manager 1.37; clients
// match its words.
#pragma once

#include "client/device_evictions.h"

namespace berth::controllers {

using client::may_evict;
using client::TaintRuleList;

inline constexpr std::string_view kEvictionInProgress = "EvictionInProgress";

struct TaintRuleProgress {
  std::size_t pods_pending = 0;
  std::size_t namespaces_pending = 0;
  std::size_t pods_evicted = 0;       // by this process
  std::size_t devices_published = 0;  // this and the next only for a rule with effect None
  std::size_t devices_allocated = 0;
};

// Counts the evictions of the rule, or of a dry run if its effect is None. Cost: O(claims), and for None
// O(slices).
TaintRuleProgress progress_of(const client::View& view, const api::DeviceTaintRule& rule);

api::Condition eviction_condition(const api::DeviceTaintRule& rule, const TaintRuleProgress& progress,
                                  Time now);

}  // namespace berth::controllers
