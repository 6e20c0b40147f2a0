// The seam to time: the only place that reads a clock. Simulations bring their own twin.
#pragma once

#include "base/time.h"

namespace berth {

class Clock {
 public:
  virtual ~Clock() = default;
  // Wall time. May step backwards.
  virtual Time now() const = 0;
  // Never goes backwards; only differences mean something.
  virtual Time monotonic() const = 0;
};

// The machine's clocks. Thread-safe.
class SystemClock final : public Clock {
 public:
  Time now() const override;
  Time monotonic() const override;
};

// A clock that stands still until it is told to move. One thread.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Time start) : now_(start) {}
  Time now() const override { return now_; }
  Time monotonic() const override { return now_; }
  void advance(Duration by) { now_ = now_ + by; }
  void advance_to(Time time) { now_ = time; }

 private:
  Time now_;
};

}  // namespace berth
