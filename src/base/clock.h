// The seam to time: the only place that reads a clock. A simulation brings its own implementation.
#pragma once

#include <atomic>

#include "base/time.h"

namespace berth {

class Clock {
 public:
  virtual ~Clock() = default;
  // Wall time. May step backwards.
  virtual Time now() const = 0;
  // Never goes backwards and keeps counting while the machine sleeps; only differences mean something.
  virtual Time monotonic() const = 0;
};

// The machine's clocks. Thread-safe.
class SystemClock final : public Clock {
 public:
  Time now() const override;
  Time monotonic() const override;
};

// Wall time without jumps: the machine's wall clock at construction, carried on by the monotonic clock, plus
// an offset to another machine's clock. Thread-safe. It steps only when the offset changes.
class SteadyClock final : public Clock {
 public:
  // `machine` outlives it.
  explicit SteadyClock(const Clock& machine)
      : machine_(machine), base_(machine.now() - machine.monotonic()), offset_micros_(0) {}
  Time now() const override { return own(monotonic()) + offset(); }
  Time monotonic() const override { return machine_.monotonic(); }
  // The wall time at a monotonic one, without the offset.
  Time own(Time monotonic) const { return monotonic + base_; }
  Duration offset() const { return Duration::micros(offset_micros_.load()); }
  void set_offset(Duration offset) { offset_micros_.store(offset.micros()); }

 private:
  const Clock& machine_;
  const Duration base_;
  std::atomic<std::int64_t> offset_micros_;
};

// A clock that moves only when its owner moves it. One thread.
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
