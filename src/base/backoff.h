// The wait after consecutive failures.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace berth {

// After the n-th failure in a row base·2^(n-1), at most the cap; zero after none. No jitter: runs are
// repeatable, and one process has one client per API server. Cost: O(log(cap/base)).
inline Duration backoff(Duration base, Duration cap, std::uint32_t failures) {
  if (failures == 0) return Duration();
  Duration delay = base;
  for (std::uint32_t i = 1; i < failures && delay < cap; ++i) delay = delay * 2;
  return std::min(delay, cap);
}

}  // namespace berth
