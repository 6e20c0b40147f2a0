// A thread that steps one engine: sleeps until a message comes or a deadline is due.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "engine/engine.h"

namespace berth::engine {

// The longest sleep: bounds what a step of the clock can do to a deadline.
inline constexpr Duration kLoopSleepMax = Duration::seconds(1);

class Loop {
 public:
  // Both outlive the loop. `name` is the thread's, cut to 15 bytes. The thread starts at once; only it
  // touches the engine from here on.
  // `observe` is called on it between steps, before it sleeps.
  Loop(Engine& engine, const Clock& clock, std::string name, std::function<void()> observe = {});
  // Stops within no grace.
  ~Loop();

  // Blocks until effects under way are carried out, at most `grace`. Safe to call twice.
  void stop(Duration grace);
  // Whether every list has arrived; for readiness. Thread-safe.
  bool synced() const;
  // A copy made between two steps. Thread-safe.
  EngineCounters counters() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with notifications on their way
};

}  // namespace berth::engine
