// Virtual time: the next event and its time. Two events of one moment run in the order of their creation.
//
// Owner: one simulated world, on one thread. Cost: O(log waiting) an event.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/time.h"

namespace berth::sim {

// More waiting events mean a loop that feeds itself.
inline constexpr std::size_t kEventsWaitingMax = 1'000'000;

class EventQueue {
 public:
  using Action = std::function<void()>;

  explicit EventQueue(Time start) : now_(start) {}

  Time now() const { return now_; }
  // A past time means now.
  void at(Time when, Action action);
  void after(Duration delay, Action action) { at(now_ + delay, std::move(action)); }
  // When the next event is due; nothing when none waits.
  std::optional<Time> next() const;
  // Never moves back. Events in between are not run: run_due() comes first.
  void advance_to(Time time);
  // Runs one event that is due. False when none is.
  bool run_due();

 private:
  struct Event {
    Time when;
    std::uint64_t sequence = 0;
    Action action;
  };
  static bool later(const Event& a, const Event& b) {
    return a.when != b.when ? a.when > b.when : a.sequence > b.sequence;
  }

  Time now_;
  std::uint64_t last_sequence_ = 0;
  std::vector<Event> heap_;
};

// The world's time, as a monotonic clock too: of the API server, and of Leases. The queue outlives it.
class WorldClock final : public Clock {
 public:
  explicit WorldClock(const EventQueue& events) : events_(events) {}
  Time now() const override { return events_.now(); }
  Time monotonic() const override { return events_.now(); }

 private:
  const EventQueue& events_;
};

}  // namespace berth::sim
