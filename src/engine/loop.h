// A thread that steps one engine: it sleeps until a message arrives or a deadline is due.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "engine/engine.h"

namespace berth::engine {

// The longest sleep: it bounds the effect of a clock step on a deadline.
inline constexpr Duration kLoopSleepMax = Duration::seconds(1);

class Loop {
 public:
  // Both outlive the loop. `name` is the thread's, truncated to 15 bytes. The thread starts at once; only it
  // may use the engine from then on. It calls `observe` between steps, before it sleeps.
  Loop(Engine& engine, const Clock& clock, std::string name, std::function<void()> observe = {});
  // Stops without a grace period.
  ~Loop();

  // Blocks until effects in flight are completed, at most `grace`. Safe to call twice.
  void stop(Duration grace);
  // Whether every list has arrived; for readiness. Thread-safe.
  bool synced() const;
  // A copy made between two steps. Thread-safe.
  EngineCounters counters() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with notifications in flight
};

}  // namespace berth::engine
