// Whether a pod may be evicted now.
#pragma once

#include "server/registry.h"

namespace berth::server {

// Pods that do not run yet or any more, and those that are being deleted, may always be evicted. Any other
// pod that a disruption budget selects may not: no controller here maintains the budgets' status, so none has
// been processed. Source: policy/v1 Eviction (429 with cause DisruptionBudget and Retry-After).
ApiResult<void> check_eviction(const Registry& registry, const ObjectTarget& pod);

}  // namespace berth::server
