// Bounds how often a thread wakes up, so that under load it handles together what arrives closely together.
//
// A token bucket: kWakeBurst wake-ups at once, then one per kWakeInterval. An idle thread never waits. One
// thread; reads no clock. Why: a wake-up costs two context switches, some 5 us, as much as handling one
// message. 1,000 pods a second are 6,000 messages.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace berth {

inline constexpr Duration kWakeInterval = Duration::micros(1250);
inline constexpr std::int64_t kWakeBurst = 50;

class WakePacer {
 public:
  // Spends one wake-up at the monotonic time `now` and returns how long the thread must sleep before it may
  // wake: at most kWakeInterval.
  Duration spend(Time now) {
    constexpr Duration kAll = kWakeInterval * kWakeBurst;
    full_at_ = std::min(std::max(full_at_, now), now + kAll) + kWakeInterval;
    return std::max(full_at_ - now - kAll, Duration());
  }

 private:
  Time full_at_ = Time::from_micros(0);  // when every wake-up has returned
};

}  // namespace berth
